#!/usr/bin/env python3
"""Programs that print their calls (run.py) are unharmed, and their calls are right, while each function of all modules
captures values: also the texts behind registers, whatever these point to.

    wild_values.py SPOOR [--next PROGRAM OPTION...]...

OPTIONs are those of run.py.
"""
import os
import sys

import run as runner
from harness import SKIP, Failure, Spoor, check, main, run

# Three words, two texts, a float; a result and the text behind it.
WILD = ["-A", "*@%rdi/s,%rsi/x,%rdx/i32,%rcx/s,%rsp/s,fparg1/64", "-R", "*@retval/x,retval/s", "--strings=40"]
WAYS = [["-M", "*", *WILD], ["-M", "*", "-a", "--overflow=wait", "--buffer=64K"]]


def compare(path, words):
    arguments = runner.parse([path, *words])
    command = runner.command_of(arguments)
    alone = run(command)
    if alone.status == SKIP:
        print(f"{os.path.basename(command[0])}: cannot run on this machine")
        return
    spoor = Spoor(path)
    for way in WAYS:
        try:
            runner.compare(arguments, spoor, alone, spoor.record(way, command), way)
        except Failure as failure:
            raise Failure(f"{os.path.basename(command[0])}: {failure}") from failure
        check(spoor.info()["values"], f"{command[0]}: {way}: no values were recorded")


def test(path, programs):
    for words in programs:
        compare(path, words)


def jobs(words):
    found = []
    for word in words:
        if word == "--next":
            found.append([])
        else:
            found[-1].append(os.path.realpath(word) if os.path.exists(word) else word)
    return found


if __name__ == "__main__":
    sys.setrecursionlimit(20000)  # graphs are as deep as the program's calls
    given = jobs(sys.argv[2:])
    spoor_path = os.path.realpath(sys.argv[1])
    main(lambda: test(spoor_path, given))
