#!/usr/bin/env python3
"""spoor comes to a program that has given itself a title, and whose own functions do nothing meanwhile: it
is called by its title, and whoever has traced nothing hears what else could be traced.

    silent.py SPOOR PROGRAM
"""
import os
import sys

from attach import Spoor, attach, check, main, running

HINT = b"-M '*'"


def test(spoor, program):
    with running([program, "some", "more", "arguments", "for the title's sake"]) as process:
        for options, hinted in ([], True), (["-M", "*"], False), (["-F", "main"], False):
            done = attach(spoor, process.pid, "--duration=1ms", *options)
            info = spoor.json("info", "--json", "trace")
            check(done.status == 0 and info["events"]["entry"] == 0, f"{options}: {done}, {info}")
            check((HINT in done.stderr) == hinted, f"{options}: {done.stderr.decode()}")
            check(info["command"] == ["title: at rest"], f"called {info['command']}")


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    path = os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
