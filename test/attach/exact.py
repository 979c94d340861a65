#!/usr/bin/env python3
"""A program is patched by one tier only, by each in turn: while spoor is there its code is another one, and
afterwards it is byte for byte what it was, in each module. One with XRay's sleds may patch and unpatch these before and
meanwhile: then it is what it would be without spoor.

    exact.py SPOOR PROGRAM PADDED-PROGRAM [SLEDS-PROGRAM]
"""
import contextlib
import os
import subprocess
import sys
import time

from attach import TIMEOUT, Spoor, check, check_left, code_of, main, run, running

LIBRARIES = ["-M", "busy", "-M", "libc.so*"]
PATIENCE_S = 60
TRAPS = ["--trap-limit=1000000000"]
# Where instructions have one size, a jump fits wherever a hop would.
SHORT = ("hop", "pun") if os.uname().machine == "x86_64" else ()


@contextlib.contextmanager
def attached(spoor, pid, what, options):
    """Process PID is traced, as long as this is entered."""
    command = [spoor.path, "attach", "-q", "-o", "trace", *options, str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"{what}: attach ended: {recorder.returncode}")
        yield
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, f"{what}: not stopped")
        _, said = recorder.communicate(timeout=TIMEOUT)
        check(recorder.returncode == 0 and not said, f"{what}: attach ended with {recorder.returncode}: {said}")


def patched(spoor, pid, tier, options):
    """What its code is while it is traced by TIER only, at rest."""
    with attached(spoor, pid, tier, [f"--tier={tier}", *options]):
        code = code_of(pid)
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


# What the program does with its sleds before spoor comes, and while it is there: patch, unpatch.
FLIPS = ("u", ""), ("u", "p"), ("u", "pu"), ("p", ""), ("p", "u"), ("p", "up")


def flip(process, how):
    process.stdin.write(how.encode())
    process.stdin.flush()
    check(process.stdout.readline() == how.encode() + b"\n", f"{how}: not done")


def await_work(spoor, pid):
    """Until each function of it has surely been called."""
    until = time.monotonic() + PATIENCE_S
    while int(run([spoor.path, "ctl", str(pid), "status"]).stdout.decode().split(" events")[0].split()[-1]) < 50000:
        check(time.monotonic() < until, "nothing is recorded")


def visit_sleds(spoor, program, options):
    with running([program]) as process:
        codes = {}
        for how in "pupu":
            flip(process, how)
            codes[how] = code_of(process.pid)
        for before, meanwhile in FLIPS:
            what = f"sleds: {options}: {before}, then {meanwhile}"
            flip(process, before)
            check_left(process.pid, codes[before])
            with attached(spoor, process.pid, what, options):
                check(code_of(process.pid) != codes[before], f"{what}: nothing was patched")
                await_work(spoor, process.pid)
                for how in meanwhile:
                    flip(process, how)
            check_left(process.pid, codes[(before + meanwhile)[-1]])
            calls = {row["function"]: row["calls"] for row in spoor.report()}
            check(calls.get("leaf", 0) > 0 and calls.get("fib", 0) > 0, f"{what}: calls: {calls}")


def test(spoor, program, padded, sleds=None):
    for tier in ("jump", *SHORT):
        visit(spoor, program, tier, LIBRARIES)
    visit(spoor, program, "trap", TRAPS)
    visit(spoor, padded, "pad", [])
    for options in (["-M", "sleds"], ["-M", "sleds", "--tier=hop"]) if sleds else ():
        visit_sleds(spoor, sleds, options)


if __name__ == "__main__":
    subject, programs = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:]]
    main(lambda: test(subject, *programs))
