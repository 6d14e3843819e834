#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command "entitylock top", plain and under tmux: TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

mux()		{ tmux -S "$dir/socket" -f /dev/null "$@"; }
screen()	{ mux capture-pane -p; }
shows()		{ screen | grep -q -e "$1"; }
shows_not()	{ ! shows "$1"; }
line_is()	{ screen | sed -n "$1p" | grep -q -e "$2"; }
lines_are()	{ [ "$(screen | grep -c "$1")" = "$2" ]; }

# An old hold that nobody waits for, and a young one that is waited for.
entitylock run --label old quiet -- sleep 1000 &
old=$!
soon exists quiet
sleep 1
entitylock run --label young busy -- sleep 1000 &
young=$!
soon exists busy
entitylock run busy -- true &
soon waiters_are busy 1

entitylock top -n 1 > out
matches 'the head' "$(sed -n 1p out)" '^entities 2, tokens 3, waiters 1; grants 0.0/s, contended 0.0/s; by wait$'
matches 'titles' "$(sed -n 2p out)" '^NAME +STATE +WAITERS +WAITED +HELD +HOLDER$'
matches 'hottest by waiting' "$(sed -n 3p out)" "^busy +held-exclusive +1 +[0-9.]+ m?s +[0-9.]+ m?s +x $young entitylock \"young\" "
matches 'then the other' "$(sed -n 4p out)" '^quiet +held-exclusive +0 +- +[0-9.]+ m?s +x '
is 'no more' "$(wc -l < out)" 4
is 'by holding' "$(entitylock top -n 1 --sort hold | sed -n '3s/ .*//p')" quiet
entitylock top -n 2 -i 0.2 > out
is 'two rounds' "$(grep -c '^entities' out)" 2
is 'a line between' "$(grep -c '^$' out)" 1
matches 'rates' "$(entitylock top -n 2 -i 2 | grep entities | tail -n 1 & for _ in {1..5}; do entitylock run z -- true; done; wait $!)" 'grants [1-9][0-9.]*/s'
is 'JSON' "$(entitylock top -n 2 -i 0.2 --json | "$here/schema.py" top)" 2
rm out
env --default-signal=INT entitylock top > out &
top=$!
soon test -s out
kill -INT $top
wait $top
is 'ended by INT' $? 0

mux new-session -d -x 120 -y 12 'env PS1="prompt> " TERM=screen bash --norc -i'
soon shows 'prompt>'
mux send-keys 'entitylock top -i 0.1' Enter
soon line_is 3 '^busy .*young'
result $? 'on a terminal: hottest by waiting'
soon lines_are prompt 0
result $? 'it has the screen alone'
mux pipe-pane 'cat > stream'
soon test -s stream
mux pipe-pane
grep -q $'\033\\[H\033\\[J' stream
is 'a frame takes the place of the one before, which is not cleared' $? 1
mux send-keys h
soon shows 'by hold'
result $? 'h: by holding'
soon line_is 3 '^quiet'
result $? 'it is sorted by that'
for n in {1..30}; do
	entitylock run "many$n" -- sleep 1000 &
done
soon shows 'entities 32'
soon lines_are . 11
result $? 'not more than fits'
soon line_is 1 '^entities'
result $? 'the head is on top'
mux resize-window -x 40 -y 12
soon line_is 3 '^quiet .*held-exclusive  0 '
result $? 'a narrow screen: what is too long is cut'
lines_are . 11
result $? 'and takes one line'
mux resize-window -x 120 -y 20
soon shows many12
result $? 'it fills a larger screen'
mux send-keys q
soon shows 'prompt>'
result $? 'q: the screen is back'
shows_not '^entities'
result $? 'q: as it was'
mux send-keys 'echo visible' Enter
soon shows '> echo visible'
result $? 'what is typed is echoed again'
mux send-keys 'clear; TERM=dumb entitylock top -n 1 | head -n 1' Enter
soon shows '^entities'
result $? 'plain on a dumb terminal'
mux resize-window -x 120 -y 40
mux send-keys 'clear; entitylock top -n 1 | head -n 1; entitylock top -n 1' Enter
soon lines_are '^entities' 2
result $? 'a number of rounds: they stay'
soon line_is 2 '^entities'
result $? 'as if it were no terminal'
mux kill-server
# shellcheck disable=SC2046  # a word an id
kill $(jobs -p)
wait

own_failure 'no rounds' 'no number of rounds' top -n 0
own_failure 'an interval too short' 'too short' top -i 0.01
own_failure 'no order' "'wait' or 'hold'" top --sort name
own_failure 'an argument too many' 'too many' top x
is 'full disk' "$(entitylock top -n 1 2> err > /dev/full; echo $?)" 125
: $old
finish
