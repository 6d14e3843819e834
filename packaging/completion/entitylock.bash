# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of entitylock(1) for bash.  What there is to complete is asked of the
# command itself, so that it fits the one that is installed.

# Prints the subcommands that the help on stdin names.
_entitylock_verbs()
{
	sed -nE 's/^  ([a-z]+)  .*/\1/p'
}

# Prints the options in the help on stdin.
_entitylock_options()
{
	sed -nE 's/^ +(-[^ ,]+)(, (--[^ ]+))?.*/\1 \3/p'
}

# Prints what is locked, or marked; names that a shell would have to quote are left out.
_entitylock_names()
{
	entitylock ls --raw 2> /dev/null | cut -f 1 | grep -xE '[A-Za-z0-9:/@%+,._-]+'
}

_entitylock()
{
	# shellcheck disable=SC2034  # split: of _init_completion
	local cur prev words cword split help i verb=() choice=''

	# Behind "--" stands another command.
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || { _command_offset $((i + 1)); return; }
	done

	_init_completion -n : || return
	for ((i = 1; i < cword && i < 3; i++)); do
		[[ $i != 1 && ${words[1]} != domain ]] || verb+=("${words[i]}")
	done
	help=$(entitylock "${verb[@]}" --help 2> /dev/null) || return

	if [[ $cur == -* ]]; then
		choice=$(_entitylock_options <<< "$help")
	elif [[ $prev == -* && $prev != --name ]] &&
	     grep -qE -e "^ .*$prev(, --[a-z-]+)? [A-Z]" <<< "$help"; then
		return		# the option's value, which only the user knows
	elif [[ ${#verb[@]} == 0 || ${verb[*]} == domain ]]; then
		choice=$(_entitylock_verbs <<< "$help")
	elif [[ ${help%%$'\n'*} == *' NAME'* && ${verb[0]} != domain ]]; then
		choice=$(_entitylock_names)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$choice" -- "$cur")
	__ltrim_colon_completions "$cur"
} && complete -F _entitylock entitylock
