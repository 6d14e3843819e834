#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands "entitylock ls", --version and --help (D5): TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

lists()
{
	entitylock ls | grep -q "$1"
}

is 'nothing to list' "$(entitylock ls)" 'NAME  STATE  FENCE  HOLDERS  WAITERS'
matches 'nothing to list, raw' "$(entitylock ls --raw)" $'^#name\tstate\tfence\tholders\twaiters\tholder\twaiter[^\n]*$'

entitylock run --label 'say "hi"' 'a name' -- sleep 60 &
holder=$!
soon lists held-exclusive
entitylock run --label waits 'a name' -- true &
waiter=$!
soon lists waits
matches 'holder and waiter' "$(entitylock ls | tail -n 1)" \
	"^a.x20name  held-exclusive  [0-9]+  x $holder entitylock \"say .x22hi.x22\" [(][0-9.]+ m?s[)]  x $waiter entitylock \"waits\" [(][0-9.]+ m?s[)]\$"
kill $holder $waiter
wait

for _ in {1..20}; do
	entitylock run -s x -- sleep 60 &
done
soon lists ', and 4 more'
matches 'many holders' "$(entitylock ls | tail -n 1)" '^x +held-shared +[0-9]+ +s [0-9]+ entitylock "sleep 60" [(][0-9.]+ m?s[)], .*, and 4 more  -$'
# shellcheck disable=SC2046  # a word an id
kill $(jobs -p)
wait

is 'many entities' "$(entitylock run {1..1000} -- entitylock ls | wc -l)" 1001
is 'columns stay aligned within a batch' \
	"$(entitylock run a bb ccc -- entitylock ls | sed 's/held.*//; s/STATE.*//' | awk '{ print length }' | sort -u)" 6
is 'seen from another pid namespace' \
	"$(entitylock run x -- unshare -pf --mount-proc entitylock ls | tail -n 1 | grep -c 'x ? entitylock')" 1

# V1: marks are seen, of what is held and of what is free.
entitylock run --robust x -- false 2> err
matches 'abandoned' "$(entitylock ls | tail -n 1)" '^x +abandoned +[0-9]+ +- +-$'
matches 'abandoned and held' "$(entitylock run x -- entitylock ls 2> err | tail -n 1)" '^x +held-exclusive, abandoned +[0-9]'
entitylock break x

# V2: leases.
matches 'lease' "$(entitylock run --lease 600 x -- entitylock ls | tail -n 1)" 'entitylock "entitylock ls" [(][0-9.]+ m?s, lease (600.0 s|10 min)[)]  -$'

# L5: the gate, and who waits at it, on a line of its own before the entities.
hold --label held
entitylock gate --label reset -- sleep 60 &
gate=$!
soon lists awaited
matches 'the gate, awaited' "$(entitylock ls | sed -n 2p)" "^#gate +awaited +[0-9]+ +- +x $gate entitylock \"reset\" [(][0-9.]+ m?s[)]\$"
entitylock run y -- true &
soon lists 'entitylock "true"'
release
soon lists '^#gate *held'
matches 'the gate, held' "$(entitylock ls | sed -n 2p)" "^#gate +held-exclusive +[0-9]+ +x $gate entitylock \"reset\" [(].*  x [0-9]+ entitylock \"true\" "
is 'the gate, JSON' "$(entitylock ls --json | "$here/schema.py" ls)" 1
matches 'the gate has no name' "$(entitylock ls --json)" '"gate": [{]"name": null, "state": "held-exclusive"'
kill $gate
wait
is 'an entity called like the gate' "$(entitylock run '#gate' -- entitylock ls | sed -n '2s/ .*//p')" '\x23gate'

# D5: bytes of all kinds, in a name and in a label, come out as ASCII and whole.
is 'nothing to list, JSON' "$(entitylock ls --json)" $'{"schema": 1, "gate": null, "entities": [\n]}'
odd=$'a b"#\\\n\e\xc3\xa9\xff,:\t'
matches 'JSON' "$(entitylock run --label "$odd" "$odd" -- entitylock ls --json | sed -n 2p)" \
	'^[{]"name": "a b..#..x5c..x0a..x1b..xc3..xa9..xff,:..x09", "state": "held-exclusive", "abandoned": false, "fence": "[0-9]+", "holders": 1, "waiters": 0, "holder": .[{]"token": "[0-9]+", "mode": "exclusive", "pid": [0-9]+, "command": "entitylock", "label": "a b..#..x5c..x0a..x1b..xc3..xa9..xff,:..x09", "age": [0-9]+[.][0-9]{9}, "lease": null, "parked": false[}]., "waiter": ..[}]$'
is 'JSON has its schema' "$(entitylock run --lease 60 a b -- entitylock ls --json | "$here/schema.py" ls)" 1
long=$(printf 'x%.0s' {1..255})
matches 'the longest name' "$(entitylock run "$long" -- entitylock ls --json)" "\"name\": \"$long\""
is 'JSON or raw' "$(entitylock ls --json --raw 2> err; echo $?)" 125

is 'argument too many' "$(entitylock ls x 2> err; echo $?)" 125
says 'argument too many: message' "'x' is one argument too many"
is 'unknown option' "$(entitylock ls --foo 2> err; echo $?)" 125
is 'full disk' "$(entitylock ls 2> err > /dev/full; echo $?)" 125
is 'full disk, raw' "$(entitylock ls --raw 2> err > /dev/full; echo $?)" 125
is 'no module' "$(unshare -m sh -c 'mount -t tmpfs none /dev; entitylock ls' 2> err; echo $?)" 125
says 'no module: what to do' modprobe
is 'no listing' "$(unshare -m sh -c 'mount --bind /dev/null /dev/entitylock; entitylock ls' 2> err; echo $?)" 125

matches 'version' "$(entitylock --version)" '^entitylock [0-9.]+, interface 1.module: interface 1, '
matches 'version without the module' \
	"$(unshare -m sh -c 'mount -t tmpfs none /dev; entitylock --version')" 'module: none: .*modprobe'
for sub in '' ls who blockers top stat trace doctor run gate wait park claim break domain; do
	# shellcheck disable=SC2086  # none is no argument
	matches "help $sub" "$(entitylock $sub --help)" '^Usage: '
done

finish
