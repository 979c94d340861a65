#!/usr/bin/env python3
"""A program is patched by one tier only, by each in turn: while spoor is there its code is another one, and
afterwards it is byte for byte what it was, in each module.

    exact.py SPOOR PROGRAM PADDED-PROGRAM
"""
import os
import subprocess
import sys

from attach import TIMEOUT, Spoor, check, check_left, code_of, main, run, running

LIBRARIES = ["-M", "busy", "-M", "libc.so*"]
TRAPS = ["--trap-limit=1000000000"]


def patched(spoor, pid, tier, options):
    """What its code is while it is traced by TIER only, at rest."""
    command = [spoor.path, "attach", "-q", "-o", "trace", f"--tier={tier}", *options, str(pid)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"{tier}: attach ended: {recorder.returncode}")
        code = code_of(pid)
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, f"{tier}: not stopped")
        check(recorder.wait(TIMEOUT) == 0, f"{tier}: attach ended with {recorder.returncode}")
    functions = spoor.json("info", "--json", "trace")["functions"]
    check(functions["tiers"][tier] > 2, f"{tier}: serves nothing: {functions}")
    if tier != "pad":
        check(functions["exit_tiers"][tier] > 2, f"{tier}: serves no exit: {functions}")
    others = sum(functions["tiers"].values()) - functions["tiers"][tier]
    check(others == 0, f"{tier}: others serve {others}")
    return code


def visit(spoor, program, tier, options):
    with running([program, "compute"]) as process:
        before = code_of(process.pid)
        check(patched(spoor, process.pid, tier, options) != before, f"{tier}: nothing was patched")
        check_left(process.pid, before)


def test(spoor, program, padded):
    for tier, options in (("jump", LIBRARIES), ("hop", LIBRARIES), ("pun", LIBRARIES), ("trap", TRAPS)):
        visit(spoor, program, tier, options)
    visit(spoor, padded, "pad", [])


if __name__ == "__main__":
    subject, programs = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(subject, *programs))
