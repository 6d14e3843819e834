#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock domain", and --domain of the other subcommands (D1, D2, D3, D5): TAP, a
# test a line.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
alice=(setpriv --reuid 1001 --regid 1001 --clear-groups)
bob=(setpriv --reuid 1002 --regid 1002 --clear-groups)

is_there()	{ entitylock domain show "$1" > look 2> /dev/null; }
is_no_more()	{ ! is_there "$1"; }
shown()		{ awk -v key="$1" '$1 == key { print $2 }' look; }

# Somebody who is in a domain: its words are those for "domain create", and before
# them the command to become somebody else.
keep()
{
	"$@" -- sleep 1000 &
	keeper=$!
	soon is_there shop
}

leave()
{
	kill $keeper
	wait $keeper 2> /dev/null
	soon is_no_more shop
}

# D1: it lives while somebody is in it, and what is locked there is locked there.
create()
{
	local cookie

	is 'D1 told to the command' \
		"$(entitylock domain create shop -- sh -c 'echo "$ENTITYLOCK_DOMAIN|$ENTITYLOCK_DOMAIN_FD"')" 'shop|'
	is 'status of the command' "$(status entitylock domain create shop -- sh -c 'exit 7')" 7
	is 'command not found' "$(status entitylock domain create shop -- ./nonexistent)" 127
	is 'command not executable' "$(status entitylock domain create shop -- /)" 126
	own_failure 'D1 gone with the command' "there is no domain 'shop'; make it by" run --domain shop x -- true
	is 'D1 left in the background' \
		"$(entitylock domain create shop -- sh -c 'sleep 1000 > /dev/null & echo $!' > pid; status entitylock domain run shop -- true)" 0
	kill "$(cat pid)"
	soon is_no_more shop
	result $? 'D1 gone with that'

	keep entitylock domain create shop
	is 'D1 not locked elsewhere' "$(entitylock run x -- entitylock run --domain shop -n x -- echo yes)" yes
	is 'D1 locked there' "$(status entitylock run --domain shop x -- entitylock run -n x -- true)" 124
	is 'D1 a gate of its own' "$(entitylock gate -- entitylock gate -n --domain shop -- echo yes)" yes
	is 'D1 joined' "$(entitylock domain create shop -- entitylock run x -- entitylock ls --raw --domain shop 2> err | wc -l)" 2
	is 'silently, if it is ours' "$(cat err)" ''
	is 'D1 run in it' "$(entitylock domain run shop -- entitylock run x -- entitylock ls --raw --domain shop | wc -l)" 2
	own_failure 'D1 exclusively' 'exists already.*(owner 0, mode 0700)' domain create --exclusive shop -- true
	is 'another mode' "$(status entitylock domain create --mode 0750 shop -- true)" 0
	says 'another mode: told' "'shop' was there before (owner 0, mode 0700); to refuse that"
	leave
	is 'D1 exclusively, new' "$(status entitylock domain create --exclusive --mode 7 shop -- true)" 0

	cookie=$(entitylock domain create shop -- entitylock park --lease 1000 x)
	is 'D1 kept by a parked lock' "$(status entitylock claim --domain shop --unlock "$cookie")" 0
	soon is_no_more shop
	result $? 'D1 gone with that, too'
	entitylock domain create shop -- entitylock run --robust x -- false 2> err
	is 'V1 kept by a mark' "$(entitylock ls --raw --domain shop | tail -n 1 | cut -f 2)" abandoned
	is 'V1 the mark is dropped' "$(status entitylock break --domain shop x)" 0
	soon is_no_more shop
	result $? 'V1 then it is gone'
}

# D1: each subcommand finds the domain, by the option and by the variable.
verbs()
{
	local how cookie option

	keep entitylock domain create --mode 0755 shop
	for how in option variable; do
		option=--domain=shop
		[ $how = option ] || { option=-; export ENTITYLOCK_DOMAIN=shop; }
		verb run $option -n x -- sh -c 'entitylock ls --raw --domain shop | tail -n 1 | cut -f 1; echo "$ENTITYLOCK_DOMAIN"'
		is "$how: run" "$(tr '\n' ' ' < out)" 'x shop '
		verb gate $option -n -- sh -c 'entitylock run --domain shop -n x -- true; echo "$? $ENTITYLOCK_DOMAIN"'
		is "$how: gate" "$(cat out)" '124 shop'
		verb park $option --lease 1000 x
		cookie=$(cat out)
		verb wait $option -n x
		is "$how: park, wait" "$verb_status" 124
		verb ls $option
		is "$how: ls" "$(grep -c parked out)" 1
		verb claim $option "$cookie" -- sh -c 'echo "$ENTITYLOCK_DOMAIN"'
		is "$how: claim" "$(cat out)" shop
		verb park $option --lease 1000 x
		verb break $option x
		is "$how: break" "$verb_status$(status entitylock run --domain shop -n x -- true)" 00
		verb domain show $option
		is "$how: domain show" "$(awk '$1 != "entities" { printf "%s ", $2 }' out)" 'named shop 0755 0 '
	done
	is 'the option wins' "$(status entitylock run --domain other x -- true)" 125
	is 'the default one by an empty name' \
		"$(entitylock run --domain '' -n x -- sh -c 'echo "${ENTITYLOCK_DOMAIN-unset}"; ENTITYLOCK_DOMAIN= entitylock ls --raw | tail -n 1 | cut -f 1' | tr '\n' ' ')" 'unset x '
	unset ENTITYLOCK_DOMAIN
	is 'an empty variable is none' "$(ENTITYLOCK_DOMAIN='' ENTITYLOCK_DOMAIN_FD='' entitylock run -n x -- sh -c "echo \"\$ENTITYLOCK_DOMAIN|\"")" '|'
	is 'D5 entities are counted' "$(entitylock run --domain shop x y -- entitylock domain show shop | awk '$1 == "entities" { print $2 }')" 2
	is 'mode in letters' "$(entitylock domain show shop | awk '$1 == "mode" { print $3 }')" rwxr-xr-x
	leave
	is 'domain show, the default one' "$(entitylock domain show | awk '$1 != "entities" { printf "%s ", $2 }')" 'default 0777 0 '
}

# verb SUBCOMMAND OPTION...: into out, and its status; an option of "-" is none
verb()
{
	local word words=()

	for word; do
		[ "$word" = - ] || words+=("$word")
	done
	verb_status=0
	entitylock "${words[@]}" > out 2> err || verb_status=$?
}

# D2: the messages of two users who share a machine.
users()
{
	local cookie fd

	chmod 666 /dev/entitylock
	keep "${alice[@]}" entitylock domain create --exclusive shop
	is 'D1 its owner' "$(is_there shop; shown owner)" 1001
	is 'D2 another user' "$(status "${bob[@]}" entitylock run --domain shop x -- true)" 125
	says 'D2 another user: message' "cannot use the domain 'shop': .*ask its owner (owner 1001, mode 0700)"
	is 'D2 cannot run in it' "$(status "${bob[@]}" entitylock domain run shop -- true)" 125
	says 'D2 cannot run in it: message' "owner 1001, mode 0700"
	is 'D1 may see whose it is' "$("${bob[@]}" entitylock domain show shop | awk '$1 == "owner" { print $2 }')" 1001
	is 'D1 exclusively' "$(status "${bob[@]}" entitylock domain create --exclusive shop -- true)" 125
	says 'D1 exclusively: whose it is' "exists already.*(owner 1001, mode 0700)"
	is 'D1 joined by root' "$(status entitylock domain create shop -- true)" 0
	says 'D1 joined by root: told' "was there before (owner 1001, mode 0700)"
	leave

	keep "${alice[@]}" entitylock domain create --mode 0771 shop
	is 'D2 no r' "$(status "${bob[@]}" entitylock ls --domain shop)" 125
	says 'D2 no r: message' "list (r).*(owner 1001, mode 0771)"
	is 'D2 no w' "$(status "${bob[@]}" entitylock run --domain shop x -- true)" 125
	says 'D2 no w: message' "cannot lock: .*lock (w).*(owner 1001, mode 0771)"
	is 'D2 no w, x' "$(status "${bob[@]}" entitylock gate --domain shop -- true)" 0
	cookie=$(entitylock park --domain shop --lease 1000 x)
	is 'D2 no w: claim' "$(status "${bob[@]}" entitylock claim --domain shop --unlock "$cookie")" 125
	says 'D2 no w: claim: message' "cannot claim: .*lock (w).*(owner 1001, mode 0771)"
	is 'D3 not the owner' "$(status "${bob[@]}" entitylock break --domain shop x)" 125
	says 'D3 not the owner: message' "only the domain's owner.*(owner 1001, mode 0771)"
	is 'D3 the owner' "$(status "${alice[@]}" entitylock break --domain shop x)" 0
	leave
	keep "${alice[@]}" entitylock domain create --mode 0772 shop
	is 'D2 no x' "$(status "${bob[@]}" entitylock gate --domain shop -- true)" 125
	says 'D2 no x: message' "cannot lock: .*take the gate (x)"
	is 'D2 no x, w' "$(status "${bob[@]}" entitylock run --domain shop x -- true)" 0
	leave
	is 'D2 not even its owner' "$(status "${alice[@]}" entitylock domain create --mode 0077 shop -- true)" 125
	is 'D2 not even its owner: nothing stays' "$(status entitylock domain show shop)" 125

	# The descriptor that a command inherits gives no right, root's own neither.
	entitylock domain create shop -- "${bob[@]}" sh -c '
		for fd in /proc/self/fd/*; do
			[ "$(readlink "$fd")" != /dev/entitylock ] || echo "${fd##*/}"
		done' > fds
	fd=$(cat fds)
	[ "$fd" -ge 10 ]
	result $? 'D1 inherited, and not in the way of scripts'
	is 'D2 it gives no right' "$(status entitylock domain create shop -- \
		"${bob[@]}" entitylock ls --domain-fd "$fd")" 125
	says 'D2 it gives no right: message' 'not open for reading'

	is 'D2 the default one' "$(set_parameter default_mode 0770 > mode; status "${bob[@]}" entitylock ls)" 125
	says 'D2 the default one: message' '(owner 0, mode 0770)'
	is 'D2 the default one, to lock' "$(status "${bob[@]}" entitylock run x -- true)" 125
	says 'D2 the default one, to lock: message' 'lock (w).*(owner 0, mode 0770)'
	set_parameter default_mode "$(cat mode)" > /dev/null
	chmod 660 /dev/entitylock
	is 'no device' "$(status "${bob[@]}" entitylock run --domain shop x -- true)" 125
	says 'no device: message' 'group'
}

# D1: only those who have the descriptor.
private()
{
	local inside

	inside=$(ENTITYLOCK_DOMAIN=shop entitylock domain private -- sh -c 'echo "${ENTITYLOCK_DOMAIN-unset} $ENTITYLOCK_DOMAIN_FD"')
	matches 'D1 private: told to the command' "$inside" '^unset [1-9][0-9]$'
	is 'status of the command, private' "$(status entitylock domain private -- sh -c 'exit 7')" 7
	is 'command not found, private' "$(status entitylock domain private -- ./nonexistent)" 127
	is 'D1 private: not locked elsewhere' \
		"$(entitylock run x -- entitylock domain private -- entitylock run -n x -- echo yes)" yes
	is 'D1 private: locked there' \
		"$(status entitylock domain private -- entitylock run x -- entitylock run -n x -- true)" 124
	is 'D1 private: shown' "$(entitylock domain private -- entitylock domain show | awk '{ printf "%s ", $2 }')" 'private 0700 0 0 '
	is 'D1 private: every verb' "$(entitylock domain private -- sh -eu -c '
		entitylock gate -n -- true
		entitylock wait -n x
		cookie=$(entitylock park --lease 1000 x)
		entitylock ls --raw | cut -f 1-8 > before
		entitylock ls --raw | cut -f 1-8 | cmp - before
		entitylock ls | grep -c parked
		entitylock claim --unlock "$cookie"
		cookie=$(entitylock park --lease 1000 x)
		entitylock break x
		entitylock run -n x -- entitylock ls --raw | wc -l')" $'1\n2'
	is 'D2 private: the descriptor is the right' "$(entitylock domain private -- \
		"${bob[@]}" entitylock run x -- echo yes)" yes
	is 'D1 private: by the option' "$(entitylock domain private -- sh -c '
		fd=$ENTITYLOCK_DOMAIN_FD
		unset ENTITYLOCK_DOMAIN_FD
		entitylock run --domain-fd $fd x -- sh -c "[ \$ENTITYLOCK_DOMAIN_FD = $fd ] && entitylock ls --raw | wc -l"')" 2
	is 'D1 private: a name within' "$(entitylock domain private -- entitylock domain create shop -- \
		sh -c 'echo "$ENTITYLOCK_DOMAIN|$ENTITYLOCK_DOMAIN_FD"')" 'shop|'
	is 'D1 private: closed' "$(status entitylock domain private -- bash -c 'eval "exec $ENTITYLOCK_DOMAIN_FD>&-"; entitylock ls')" 125
	says 'D1 private: closed: message' 'descriptor 1[0-9] is not open; let it be inherited'
	is 'D1 private: something else' "$(status entitylock domain private -- entitylock ls --domain-fd 2)" 125
	says 'D1 private: something else: message' 'descriptor 2 is not of a domain'
}

# D5: names and labels of any bytes: one line each, and nothing that a terminal obeys.
any_bytes()
{
	local euros name

	euros=$(printf '\u20ac%.0s' {1..85})
	is 'D5 255 bytes' "$(entitylock run "$euros" -- entitylock ls --raw | tail -n 1 | cut -f 1)" \
		"$(printf '\\xe2\\x82\\xac%.0s' {1..85})"
	for name in $'new\nline' $'\e[2J\e]0;x\a' 'Grüße' $'a\ttab' $'\r' '#' '\x41' $'\177'; do
		is "D5 name: $(printf '%q' "$name" | tr '#' N)" \
			"$(printf '%b' "$(entitylock run --name "$name" -- entitylock ls --raw | tail -n 1 | cut -f 1)."; entitylock run --name "$name" -- entitylock ls | wc -l)" \
			"$name.2"
		is "D5 label: $(printf '%q' "$name" | tr '#' N)" \
			"$(printf '%b' "$(entitylock run --label "$name" x -- entitylock ls --raw | tail -n 1 | cut -f 6 | cut -d : -f 5)."; entitylock run --label "$name" x -- entitylock ls | grep -c '[^ -~]')" \
			"$name.0"
		is "D1 domain: $(printf '%q' "$name" | tr '#' N)" \
			"$(printf '%b.' "$(entitylock domain create --name "$name" -- entitylock domain show | sed -n 's/^name *//p')")" \
			"$name."
		is "D1 message: $(printf '%q' "$name" | tr '#' N)" \
			"$(status entitylock ls --domain "$name"; grep -c '[^ -~]' err; wc -l < err)" $'125\n0\n1'
	done
	is 'D1 255 bytes of a domain' "$(entitylock domain create "$euros" -- printenv ENTITYLOCK_DOMAIN)" "$euros"
}

bad_input()
{
	local mode fd sub

	own_failure 'no word' "no 'create'" domain
	own_failure 'another word' "'delete' is none of" domain delete shop
	for sub in create run; do
		own_failure "$sub: no name" 'no name of the domain' domain $sub -- true
		own_failure "$sub: empty name" 'empty' domain $sub '' -- true
		own_failure "$sub: name too long" '256 bytes' domain $sub "$(printf 'n%.0s' {1..256})" -- true
		own_failure "$sub: two names" 'more than one domain' domain $sub a b -- true
		own_failure "$sub: no --" "no '--'" domain $sub shop
		own_failure "$sub: no command" 'no command' domain $sub shop --
		own_failure "$sub: --domain" "'--domain' is not known" domain $sub --domain shop -- true
	done
	own_failure 'private: a name' 'has no name' domain private shop -- true
	own_failure 'private: no command' "no '--'" domain private
	own_failure 'show: two names' 'more than one domain' domain show a b
	own_failure 'show: nobody there' "there is no domain 'shop'" domain show shop
	own_failure 'run: nobody there' "there is no domain 'shop'" domain run shop -- true
	own_failure 'run: mode' "'--mode' is not known" domain run --mode 0700 shop -- true
	for mode in '' 8 0800 1000 01777 -1 rwx 0x1ff 00700 7.0; do
		own_failure "mode '$mode'" 'no mode; give octal digits' domain create --mode "$mode" shop -- true
	done
	for fd in '' -1 a 1.0 2147483648; do
		own_failure "descriptor '$fd'" 'no descriptor' ls --domain-fd "$fd"
	done
	own_failure 'name and descriptor' 'exclude each other' ls --domain shop --domain-fd 3
	own_failure 'domain too long' '256 bytes' ls --domain "$(printf 'n%.0s' {1..256})"
	is 'both variables' "$(ENTITYLOCK_DOMAIN=shop ENTITYLOCK_DOMAIN_FD=3 status entitylock ls)" 125
	says 'both variables: message' 'are both set; unset one'
	is 'a variable that is no number' "$(ENTITYLOCK_DOMAIN_FD=x status entitylock ls)" 125
	says 'a variable that is no number: message' "'x' is no descriptor"
	is 'a full disk' "$(entitylock domain show 2> err > /dev/full; echo $?)" 125
	for sub in '' create run show private; do
		# shellcheck disable=SC2086  # none is no argument
		matches "help $sub" "$(entitylock domain $sub --help)" '^Usage: entitylock domain '
	done
}

create
verbs
users
private
any_bytes
bad_input
finish
