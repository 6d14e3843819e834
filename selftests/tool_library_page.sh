#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The code in Documentation/library.rst and in the manual pages compiles, in C and
# C++, and works: TAP, a test a function.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=selftests/page_blocks.sh
. "$top/selftests/page_blocks.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# Each literal block that is a function, and a call of it, under its page's name.
take()
{
	name=$(basename "$1" | tr . _)
	literals "$1" | awk '
		/^int [a-z_]*\(int domain\)$/ { inside = 1 }
		inside { print }
		/^}$/ { inside = 0 }' | sed "s/^int \([a-z_]*\)(int domain)\$/int ${name}__\1(int domain)/" > taken
	cat taken >> functions
	sed -n 's/^int \([a-z_0-9]*\)(int domain)$/CALL(\1);/p' taken >> calls
}

for page in "$top"/Documentation/library.rst "$top"/Documentation/man/*.[237]; do
	take "$page"
done
[ "$(wc -l < calls)" -gt 25 ]
cat > page.c << 'EOF'
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <entitylock.h>

#include "functions"

#define CALL(function) do {						\
	int err = function(domain);					\
									\
	bad |= err;							\
	printf("%sok %d " #function "\n", err ? "not " : "", ++number);	\
} while (0)

int main(void)
{
	int domain = entitylock_open(NULL, O_RDWR), number = 0, bad = 0;

#include "calls"
	printf("1..%d\n", number);
	return bad != 0;
}
EOF

flags="-Wall -Wextra -Werror -I$top/userspace/lib/include -isystem $top/uapi"
# shellcheck disable=SC2086  # several
g++ $flags -x c++ -Wno-missing-field-initializers -fsyntax-only page.c
# shellcheck disable=SC2086  # several
gcc $flags -std=gnu11 -o page page.c "$top/build/userspace/libentitylock.a" -pthread
./page
