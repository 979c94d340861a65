#!/usr/bin/env python3
"""callers.py SPOOR PROGRAM: --stack records callers in a program that already runs, at each attach
(programs/open_calls.c, "turns")."""
import os
import re
import sys

from attach import Spoor, attach, check, check_left, code_of, main, running

VISITS = 3
# tail() makes a tail call, so its callee returns to tail's caller.
CHAIN = re.compile(r"((after )?(down ){0,9}|large )turn turns main ")
ENDS = {"after down turn turns main ", "down turn turns main ", "large turn turns main ", "after turn turns main "}


def check_chains(spoor, program):
    name, seen = os.path.basename(program), set()
    for item in spoor.json_lines("replay", "--json", "--stack", "trace"):
        if item["kind"] != "entry" or "before" in item:
            continue
        own = "".join(f"{frame['function']} " for frame in item["stack"] if frame["module"] == name)
        own = own.removesuffix("_start ")
        check(item["function"] == "leaf" and CHAIN.fullmatch(own), f"{item}")
        check(item["stack_end"] == "whole", f"{item}")
        seen.add(own)
    check(seen >= ENDS, f"only {sorted(seen)}")


def test(spoor, program):
    with running([program, "turns"]) as process:
        before = code_of(process.pid)
        for _ in range(VISITS):
            done = attach(spoor, process.pid, "-F", "leaf", "--stack", "--overflow=wait", "--events=4000")
            check(done.status == 0, f"attach: {done}")
            check_left(process.pid, before)
            check_chains(spoor, program)


if __name__ == "__main__":
    subject, path = Spoor(os.path.realpath(sys.argv[1])), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
