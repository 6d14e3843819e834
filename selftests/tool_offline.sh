#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Edits of database rows are kept apart, whatever happens to their editors
# (userspace/examples/offline): TAP, a test a line.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
PATH=$here/../build/userspace/examples:$PATH
offline=$here/../userspace/examples/offline

# value WAY ROWS COLUMN: of the line of a cell
value()
{
	awk -F , -v way="$1" -v rows="$2" -v column="$3" \
		'$1 == "cell" && $2 == way && $3 == rows { print $column }' cells
}

# times FATE WAY WHAT: in microseconds; nothing if it did not come to that
times()
{
	sed -n "s/^vanish,$1,$2,$3,//p" fates
}

sizes='1x4x2 8x4x1'
case ${ENTITYLOCK_KERNEL:-} in
debug*)	sizes='1x4x8 8x4x4' ;;
esac
ways='version3 version2 column4 column2 token parked unchanged'
cat > commands << EOF2
offline --think 50 --rest 20 --pause 100 --ways ${ways// /,} measure $sizes > cells
echo \$? > cells.status
offline --repeats 1 --lease 300 --limit 3000 --pause 100 vanish > fates
echo \$? > fates.status
offline --think 20 --rest 0 --ways none measure 1x4x2 > none 2> err
echo \$? > none.status
EOF2
"$offline/database.sh" sh -c "cd '$PWD' && sh commands" > log 2>&1
result $? 'the database starts, and ends'
sed 's/^/# /' log cells fates none

is 'no update is lost' "$(cat cells.status)" 0
for way in $ways; do
	is "$way: none lost on one row" "$(value "$way" 1 15)" 0
	is "$way: none lost on several" "$(value "$way" 8 15)" 0
	[ "$(value "$way" 1 6)" -gt 0 ]
	result $? "$way: changes were made"
done
for way in column4 column2 token parked; do
	is "$way: nothing is wasted" "$(value $way 1 7)" 0
done
is 'without any of them' "$(cat none.status)" 1
says 'updates are lost, and it is found' 'updates were lost'

is 'none lost by editors that vanish' "$(cat fates.status)" 0
for way in version3 version2 unchanged; do
	[ "$(times killed $way free)" -le 0 ]
	result $? "killed, $way: nothing was locked"
done
for way in column4 column2; do
	[ -n "$(times killed $way never)" ]
	result $? "killed, $way: locked for ever"
done
# Nobody else would have freed it: there is no lease.
[ -n "$(times killed token free)" ]
result $? 'killed, token: free at once'
# V4, V2
[ "$(times parked parked free)" -ge 0 ]
result $? 'killed when it was parked: free when the lease ends'
[ "$(times paused token free)" -ge 0 ]
result $? 'paused: free when the lease ends'
[ -n "$(times paused token refused)" ]
result $? 'its late write is refused by the fence'
for way in token parked unchanged; do
	[ -n "$(times handed $way saved)" ]
	result $? "killed when it had handed over, $way: the second process saves it"
done

is 'no command' "$(status offline)" 2
says 'it says what it needs' 'usage: offline'
is 'a way that does not exist' "$(status offline --ways token,hope vanish)" 2
says 'it says which' 'there is no way "hope"'
is 'a size that is none' "$(status offline measure 1x2)" 2
says 'it says what one is' '1x2: ROWSxWORKERSxSECONDS is needed'
is 'not a number' "$(status offline --think soon vanish)" 2
says 'it says what is needed' '--think soon: a number'
is 'no database' "$(PGHOST=$PWD status offline vanish)" 1
says 'it says what to do' 'run it by database.sh'
is 'no command for the database' "$(status "$offline/database.sh")" 125
finish
