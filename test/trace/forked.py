#!/usr/bin/env python3
"""Forked processes begin with the calls that were open in their makers, with all options that leave events out.

    forked.py SPOOR PROGRAM

PROGRAM is programs/fork_places.c. Its marks tell what is in the trace: with --threshold only what a process has begun
with, with --depth only outer calls, with other options all calls.
"""
import collections
import os
import sys

import run
from harness import Failure, Spoor, check, check_same, check_same_outcome, main


def kept(marks, shows):
    """MARK FUNCTION for the MARKS of calls for which SHOWS(mark of the beginning, depth) holds."""
    stacks, lines = collections.defaultdict(list), []
    for m in marks:
        stack = stacks[m.stack]
        if m.mark in ">+":
            stack.append(shows(m.mark, len(stack)))
        if stack[-1]:
            lines.append(f"{m.mark} {m.function}")
        if m.mark in "<!":
            stack.pop()
    return lines


def recorded(spoor, program):
    threads = collections.defaultdict(list)
    for item in spoor.replay():
        if item["module"] == program and not run.ADDED_FUNCTIONS.match(item["function"]):
            mark = "+" if item["kind"] == "entry" and "before" in item else run.KINDS[item["kind"]]
            threads[item["tid"]].append(f"{mark} {item['function']}")
    return threads.values()


def check_kept(spoor, program, alone, options, shows):
    check_same_outcome(alone, spoor.record(options, [program]), " ".join(options))
    if not spoor.is_whole():
        return
    name = os.path.basename(program)
    threads = run.Expectation(alone.stdout.decode(), name).threads.values()
    wanted = list(filter(None, (kept(marks, shows) for marks in threads)))
    found = recorded(spoor, name)
    check(len(wanted) == len(found), f"{options}: {len(found)} threads, not {len(wanted)}")
    for want, got in zip(sorted(wanted), sorted(found)):
        try:
            check_same("replay", want, got)
        except Failure as failure:
            raise Failure(f"{options}: {failure}") from failure


def test(spoor, program):
    alone = run.run([program])
    for more in [], ["--stack"], ["--overflow=overwrite"], ["-M", "*"]:
        check_kept(spoor, program, alone, more, lambda begin, depth: True)
        check_kept(spoor, program, alone, ["--depth=99", *more], lambda begin, depth: True)
        check_kept(spoor, program, alone, ["--threshold=1000s", *more], lambda begin, depth: begin == "+")
        if "-M" not in more:
            for n in 1, 2, 4:
                check_kept(spoor, program, alone, [f"--depth={n}", *more], lambda begin, depth: depth < n)


if __name__ == "__main__":
    tracer, forker = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, forker))
