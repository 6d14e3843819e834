#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What bash and zsh complete (packaging/completion): TAP, a test a line.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
completion=$here/../packaging/completion

# in_bash WORD...: what there is for the last of the words, sorted
in_bash()
{
	bash --norc -c '
		. /usr/share/bash-completion/bash_completion
		. "$1"
		shift
		COMP_LINE=$* COMP_POINT=${#COMP_LINE} COMP_TYPE=9
		# As readline does it: a colon is a word.
		COMP_WORDS=()
		for word; do
			while [[ $word == *?:* || $word == :?* ]]; do
				[[ $word == :* ]] && part=: || part=${word%%:*}
				COMP_WORDS+=("$part")
				word=${word#"$part"}
			done
			COMP_WORDS+=("$word")
		done
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_entitylock 2> /dev/null
		printf "%s\n" "${COMPREPLY[@]}" | sort | tr "\n" " "' \
		bash "$completion/entitylock.bash" "$@"
}

# in_zsh WORD...: the same; _normal completes other commands
in_zsh()
{
	zsh -f -c '
		script=$1
		words=("${@[2,-1]}") CURRENT=$#words
		compadd() { print -rl -- "${@[2,-1]}" | grep -e "^$words[CURRENT]" | sort | tr "\n" " " }
		_normal() { print -rn "command: $words[CURRENT]" }
		. $script' zsh "$completion/entitylock.zsh" "$@"
}

both()
{
	local what=$1 expected=$2
	shift 2
	matches "bash: $what" "$(in_bash entitylock "$@")" "$expected"
	matches "zsh: $what" "$(in_zsh entitylock "$@")" "$expected"
}

both 'subcommands' '(^| )break .*gate .*run .*wait ' ''
both 'a subcommand' '^run $' ru
both 'options of the program' '^--help --version $' --
both 'options of a subcommand' '^--label --lease $' run --l
both 'short ones' '(^| )-n .*-w ' run -
both 'no option that it has not' '^ ?$' gate --sh
both 'subcommands of domain' '^create private run show $' domain ''
both 'their options' '^--mode $' domain create --m
both 'no value of an option' '^ ?$' run --label ''

entitylock run --robust x y account:1 'odd name' -- false 2> err
both 'names' '^account:1 x y $' run ''
both 'a name' '^x $' run -s y x
both 'names behind --name' '^account:1 x y $' wait --name ''
matches 'zsh: a name with a colon' "$(in_zsh entitylock break acc)" '^account:1 $'
matches 'bash: a name with a colon' "$(in_bash entitylock break account:)" '^1 $'
both 'a domain has other names' '^ ?$' domain run ''
for name in x y account:1 'odd name'; do
	entitylock break "$name"
done

is 'bash: another command' "$(in_bash entitylock run x -- entitylock ru)" 'run '
is 'zsh: another command' "$(in_zsh entitylock run x -- entitylock ru)" 'command: ru'
is 'bash: without the command' "$(PATH=/usr/bin:/bin in_bash entitylock '')" ' '
finish
