#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands in Documentation/command.rst, crash-safety.rst and entitylock(1) and (7)
# work: TAP, a test a literal block.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=selftests/page_blocks.sh
. "$here/page_blocks.sh"
pages=$here/../Documentation

# What the examples call; "reload" ends its loop.
for name in transfer rebuild backup reset check-and-repair save; do
	printf '#!/bin/sh\n' > $name
done
printf '#!/bin/sh\nexit 1\n' > reload
chmod +x ./*

# Blocks of commands, each into a file; not those with "[OPTION", nor output.
for page in "$pages"/command.rst "$pages"/crash-safety.rst "$pages"/man/entitylock.[17]; do
	literals "$page" | awk -v page="$(basename "$page")" '
		/^$/ { if (block && text !~ /\[OPTION/) {
			       file = sprintf("block-%s-%03d", page, ++n); print text > file; close(file) }
		       text = ""; block = 0; next }
		/^(entitylock [a-z]|[a-z]+=)/ && !text { block = 1 }
		block { text = text $0 "\n" }'
done

for block in block*; do
	# What is broken there must be held.
	if grep -q job:1 "$block"; then
		entitylock run job:1 -- sleep 1000 2> lost &
		soon exists job:1
	fi
	bash -eu "$block" > out 2> err || { sed 's/^/# /' "$block" out err; false; }
	result $? "$block: $(head -n 1 "$block")"
	if grep -q job:1 "$block"; then
		wait $!
		is 'the one that is broken' $? 123
	fi
done
[ "$number" -gt 20 ]
result $? 'there are blocks'
is 'nothing is left' "$(entitylock ls --raw | wc -l)" 1
finish
