#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The code in Documentation/library.rst compiles, in C and C++, and works: TAP, a
# test a function.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# The literal blocks that are functions.
awk '/^  int [a-z_]*\(int domain\)$/ { inside = 1 }
     inside { print substr($0, 3) }
     /^  }$/ { inside = 0 }' "$top/Documentation/library.rst" > functions
sed -n 's/^int \([a-z_]*\)(int domain)$/CALL(\1);/p' functions > calls
[ -s calls ]
cat > page.c << 'EOF'
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
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
g++ $flags -x c++ -fsyntax-only page.c
# shellcheck disable=SC2086  # several
gcc $flags -std=gnu11 -o page page.c "$top/build/userspace/libentitylock.a" -pthread
./page
