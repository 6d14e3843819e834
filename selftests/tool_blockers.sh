#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command "entitylock blockers": trees, cycles, the gate: TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

gate_is()	{ [ "$(cell '#gate' 2)" = "$1" ]; }

# Two who lock in opposite orders, with a token each: L1 cannot help them.
deadlock()
{
	local first second

	"$here/holder.py" lock a touch 1 await 2 lock b sleep &
	first=$!
	"$here/holder.py" lock b touch 2 await 1 lock a sleep &
	second=$!
	soon waiters_are a 1
	soon waiters_are b 1
	entitylock blockers $first > out
	sed 's/[0-9.]* m\?s\b/T/g; s/token [0-9]*/token N/g' out > tree
	is 'a cycle' "$(cat tree)" "process $first holder.py
  waits T for b, exclusive, token N, number 1 of 1 in the queue
    held by x $second holder.py, token N, T
      waits T for a, exclusive, token N, number 1 of 1 in the queue
        held by x $first holder.py, token N, T: a CYCLE, the process waits above
1 cycle: each is a deadlock, if one thread waits and holds"
	matches 'from the name' "$(entitylock blockers a)" "^a  held-exclusive.  held by x $first .*held by x $second .*CYCLE"
	entitylock blockers --json $second > json
	is 'JSON' "$("$here/schema.py" blockers < json)" 1
	is 'JSON: the cycle' "$(grep -o '"cycle": true' json | wc -l)" 1
	kill $first $second
	wait
}

# A thread waits at the gate, which waits for what its process holds.
gate()
{
	"$here/holder.py" lock a touch 3 await 4 lock c sleep &
	local holder=$!
	soon test -e 3
	entitylock gate --label reset -- true &
	local reset=$!
	soon gate_is awaited
	touch 4
	soon waiters_are '#gate' 2
	entitylock blockers $holder > out
	matches 'behind the gate' "$(cat out)" "waits [^,]* for #gate, exclusive, token [0-9]+, number 2 of 2 .*before it waits x $reset entitylock \"reset\""
	matches 'the gate waits for what runs' "$(cat out)" "in flight x $holder holder.py[^:]*: a CYCLE"
	matches 'the gate' "$(entitylock blockers --gate)" "^#gate  awaited.*in flight x $holder holder.py"
	matches 'who asks now' "$(entitylock blockers z)" "^#gate  awaited.  before it waits x $reset entitylock"
	kill $holder
	wait
	rm 3 4
}

# A chain, and a queue.
chain()
{
	entitylock run 1 -- sleep 1000 &
	local last=$!
	soon exists 1
	entitylock run 1 -- true &
	local middle=$!
	soon waiters_are 1 1
	entitylock run --label other 1 -- true &
	soon waiters_are 1 2
	matches 'a queue' "$(entitylock blockers $!)" "number 2 of 2 in the queue.    held by x $last .*    before it waits x $middle "
	matches 'a name that is a number' "$(entitylock blockers --name 1)" "^1  held-exclusive.  held by x $last "
	matches 'no such process' "$(entitylock blockers 4000000 2>&1)" 'no process 4000000; for a name that is a number say --name 4000000'
	kill $last
	wait
	is 'waits for nothing' "$(entitylock blockers $$)" "process $$ $(cat /proc/$$/comm)
  waits for nothing"
	is 'a name that is free' "$(entitylock blockers nothing)" 'free: nobody holds it, and nobody waits'
}

# A listing may miss what comes while the table of entities grows.
whole_tree()
{
	entitylock blockers link60 > out
	[ "$(wc -l < out)" = 102 ]
}

# Anybody can make one that is longer than the stack is deep.
long_chain()
{
	setsid "$here/holder.py" chain 60 touch chained sleep &
	local holder=$!
	soon test -e chained
	soon whole_tree
	result $? 'a long chain: as deep as it goes'
	is 'a long chain: its end' "$(grep -c ': and so on$' out) $(tail -n 1 out | grep -c ': and so on$')" '1 1'
	entitylock blockers --json link60 > json
	is 'a long chain: JSON' "$("$here/schema.py" blockers < json)" 1
	is 'a long chain: JSON: its end' "$(grep -o '"cut": true' json | wc -l)" 1
	kill -- -$holder
	wait
}

# More than a listing shows.
long_queue()
{
	hold --label held
	for _ in {1..17}; do
		entitylock run x -- true &
	done
	soon waiters_are x 17
	entitylock run x -- true &
	soon waiters_are x 18
	entitylock blockers $! > out
	matches 'the last of many' "$(cat out)" "waits [^,]* for x, exclusive, token [0-9]+, number 17 or later of 18 in the queue.    held by x $holder "
	is 'those before' "$(grep -c 'before it waits' out)" 16
	release
	wait
}

bad_input()
{
	own_failure 'nothing' 'no process id or name' blockers
	own_failure 'process 0' 'id 0' blockers 0
	own_failure 'two processes' 'more than one process' blockers 1 2
	own_failure 'a process and a name' 'one at a time' blockers 1 x
	own_failure 'the gate and a name' 'the gate has no name' blockers --gate x
	is 'full disk' "$(entitylock blockers x 2> err > /dev/full; echo $?)" 125
}

deadlock
gate
chain
long_chain
long_queue
bad_input
finish
