#compdef entitylock
# SPDX-License-Identifier: GPL-2.0
#
# Completion of entitylock(1) for zsh.  What there is to complete is asked of the
# command itself, so that it fits the one that is installed.

local -a verb help words_shown choice
local current=$words[CURRENT] previous=$words[CURRENT-1]
local -i dashes=${words[(i)--]}

# Behind "--" stands another command.
if (( dashes < CURRENT )); then
	shift $dashes words
	(( CURRENT -= dashes ))
	_normal
	return
fi

(( CURRENT <= 2 )) || verb=($words[2])
[[ $words[2] != domain ]] || (( CURRENT <= 3 )) || verb+=($words[3])
help=("${(@f)$(entitylock $verb --help 2> /dev/null)}")

if [[ $current == -* ]]; then
	choice=($(print -rl -- $help | sed -nE 's/^ +(-[^ ,]+)(, (--[^ ]+))?.*/\1 \3/p'))
elif [[ $previous == -* && $previous != --name ]] &&
     print -rl -- $help | grep -qE -e "^ .*$previous(, --[a-z-]+)? [A-Z]"; then
	return 1	# the option's value, which only the user knows
elif [[ $#verb == 0 || "$verb" == domain ]]; then
	choice=($(print -rl -- $help | sed -nE 's/^  ([a-z]+)  .*/\1/p'))
elif [[ $help[1] == *' NAME'* && $verb[1] != domain ]]; then
	choice=($(entitylock ls --raw 2> /dev/null | cut -f 1 | grep -v '[#\\]'))
fi
compadd -- $choice
