#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands in Documentation/command.rst and crash-safety.rst work: TAP, a test a
# literal block.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
pages=$here/../Documentation

# What the examples call; "reload" ends its loop.
for name in transfer rebuild backup reset check-and-repair save; do
	printf '#!/bin/sh\n' > $name
done
printf '#!/bin/sh\nexit 1\n' > reload
chmod +x ./*

# Blocks of commands, each into a file; not those with "[OPTION", nor output.
awk '/^$/ { if (block && text !~ /\[OPTION/) { file = sprintf("block%03d", ++n); print text > file; close(file) }
	    text = ""; block = 0; next }
     /^  (entitylock [a-z]|[a-z]+=)/ && !text { block = 1 }
     block { text = text substr($0, 3) "\n" }' "$pages/command.rst" "$pages/crash-safety.rst"

for block in block*; do
	# What is broken there must be held.
	if grep -q job:1 "$block"; then
		entitylock run job:1 -- sleep 1000 2> lost &
		soon exists job:1
	fi
	bash -eu "$block" > out 2> err || { sed 's/^/# /' "$block" out err; false; }
	result $? "$(head -n 1 "$block")"
done
[ "$number" -gt 10 ]
result $? 'there are blocks'
wait $!
is 'the one that is broken' $? 123
is 'nothing is left' "$(entitylock ls --raw | wc -l)" 1
finish
