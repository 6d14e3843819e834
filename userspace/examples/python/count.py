#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""count.py FILE TIMES: add 1 to the number in a file, so many times, beside others who do

Reads and writes under a lock with the file's name.
"""
import os
import sys

import entitylock


def main():
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    path, times = sys.argv[1], int(sys.argv[2])
    name = b"file:" + os.fsencode(os.path.basename(path))
    try:
        domain = entitylock.Domain()
    except OSError as error:
        sys.exit(f"count.py: {error}: is the module loaded?")
    with domain:
        for _ in range(times):
            with domain.acquire(name, seconds=60, label=b"count"):
                with open(path, "r+", encoding="ascii") as file:
                    number = int(file.read())
                    file.seek(0)
                    file.write(f"{number + 1}\n")


main()
