#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""report.py [--whole] COUNTS.tar...: how much of the module was reached

COUNTS.tar is what run.sh has written, of the module that is in build/; several runs
count together.  Prints a table, and those lines that were not reached and that
"unreached", beside this script, does not account for.  With --whole, all tests that
there are have run: then such a line is a failure, as is an account of a line that is
gone, or less than 90 %.
"""
import collections
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UNREACHED = os.path.join(HERE, "unreached")
LEAST = 90


class Lines:
    """How often lines of one file, and the branches in them, were taken."""

    def __init__(self, name):
        self.name = name
        self.counts = collections.Counter()
        self.branches = {}
        with open(os.path.join(TOP, name), encoding="utf-8") as source:
            self.text = [line.rstrip("\n") for line in source]

    def add(self, line):
        """An inline function is there once for each object that has it."""
        number = line["line_number"]
        self.counts[number] += line["count"]
        self.branches[number] = [
            a + b for a, b in itertools.zip_longest(
                self.branches.get(number, []),
                [branch["count"] for branch in line["branches"]], fillvalue=0)]

    def taken(self):
        return [count for branches in self.branches.values() for count in branches]

    def function(self, number):
        """The one that line @number is in: the last that began in the first column."""
        for text in reversed(self.text[:number]):
            found = re.match(r"[a-z].*?(\w+)\(", text)
            if found:
                return found[1]
        return ""

    def unreached(self):
        """(line number, key), where the key stays the same when other lines change."""
        for number, count in sorted(self.counts.items()):
            if not count:
                yield number, (self.name, self.function(number),
                               self.text[number - 1].strip())


def run(*command, cwd):
    """What the command writes."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8",
                          check=False)
    if done.returncode or done.stderr:
        sys.exit("report.py: %s failed:\n%s" % (command[0], done.stderr))
    return done.stdout


def gcov(archive):
    """What gcov makes of the counts: a document for each object."""
    with tempfile.TemporaryDirectory() as directory:
        run("tar", "-xf", os.path.abspath(archive), cwd=directory)
        counts = sorted(glob.glob("**/*.gcda", root_dir=directory, recursive=True))
        if not counts:
            sys.exit("report.py: no counts in %s" % archive)
        for name in counts:
            notes = os.path.splitext(name)[0] + ".gcno"
            os.symlink(os.path.join(TOP, "build", notes), os.path.join(directory, notes))
        text = run("gcov", "--json-format", "--stdout", "--branch-probabilities", *counts,
                   cwd=directory)
    return [json.loads(line) for line in text.splitlines() if line]


def collect(documents):
    """The module's files, sorted; the objects were compiled from links to them."""
    files = {}
    for document in documents:
        for file in document["files"]:
            path = os.path.join(document["current_working_directory"], file["file"])
            name = os.path.relpath(os.path.realpath(path), TOP)
            if not name.startswith("module/"):
                continue
            lines = files.setdefault(name, Lines(name))
            for line in file["lines"]:
                lines.add(line)
    return [files[name] for name in sorted(files)]


def share(part, whole):
    return "%6d %6d %5.1f" % (whole, part, 100 * part / whole if whole else 100)


def row(name, counts, taken):
    return "%-20s %s   %s" % (name, share(sum(map(bool, counts)), len(counts)),
                              share(sum(map(bool, taken)), len(taken)))


def accounts():
    """Lines that are known not to be reached, with how often each is in its function."""
    known = collections.Counter()
    place = None
    with open(UNREACHED, encoding="utf-8") as listed:
        for text in listed:
            heading = re.match(r"(\S+) (\S+): ", text)
            if heading:
                place = heading.groups()
            elif text.startswith("\t"):
                known[(*place, text.strip())] += 1
    return known


def gone(files, known):
    """Of @known those that are no line of code of their function any more."""
    there = {(file.name, file.function(number), file.text[number - 1].strip())
             for file in files for number in file.counts}
    return [key for key in known if key not in there]


def main():
    arguments = sys.argv[1:]
    whole = arguments[:1] == ["--whole"]
    archives = arguments[whole:]
    if not archives:
        sys.exit(__doc__.rstrip())
    files = collect([document for archive in archives for document in gcov(archive)])

    print("%-20s %6s %6s %5s   %8s %5s %5s" % ("file", "lines", "reached", "%",
                                              "branches", "taken", "%"))
    for file in files:
        print(row(file.name, file.counts.values(), file.taken()))
    counts = [count for file in files for count in file.counts.values()]
    print(row("all", counts, [count for file in files for count in file.taken()]))

    known = accounts()
    old = gone(files, known)
    left = known.copy()
    new = 0
    for file in files:
        for number, key in file.unreached():
            if left[key]:
                left[key] -= 1
                continue
            new += 1
            print("not reached: %s:%d: %s(): %s" % (key[0], number, key[1], key[2]))
    for key in old:
        print("accounted for, but gone: %s: %s(): %s" % key)
    reached = 100 * sum(map(bool, counts)) / len(counts)
    print("%.1f %% of %d lines; %d not reached are accounted for, %d are not" % (
        reached, len(counts), known.total() - left.total(), new))
    return int(whole and (new > 0 or bool(old) or reached < LEAST))


if __name__ == "__main__":
    sys.exit(main())
