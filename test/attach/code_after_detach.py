#!/usr/bin/env python3
"""A program is patched by one tier only, by each tier in turn. Its code changes while spoor traces, and has the
same bytes afterwards in each module. A program with XRay's sleds may patch and unpatch them before and during the
attach: then its code is afterwards what it would be without spoor.

    code_after_detach.py SPOOR PROGRAM PADDED-PROGRAM [SLEDS-PROGRAM]
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
# Where instructions have one size, the tier hop serves nothing: a jump fits as well.
SHORT = ("hop", "pun") if os.uname().machine == "x86_64" else ()


@contextlib.contextmanager
def attached(spoor, pid, what, options):
    """Traces process PID inside the with block."""
    command = [spoor.path, "attach", "-q", "-o", "trace", *options, str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"{what}: attach ended: {recorder.returncode}")
        yield
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, f"{what}: not stopped")
        _, stderr = recorder.communicate(timeout=TIMEOUT)
        check(recorder.returncode == 0 and not stderr, f"{what}: attach ended with {recorder.returncode}: {stderr}")


def patched(spoor, pid, tier, options):
    """The code of process PID while it is traced by TIER only and makes no calls."""
    with attached(spoor, pid, tier, [f"--tier={tier}", *options]):
        code = code_of(pid)
    functions = spoor.json("info", "--json", "trace")["functions"]
    check(functions["tiers"][tier] > 2, f"{tier}: serves no function: {functions}")
    if tier != "pad":
        check(functions["exit_tiers"][tier] > 2, f"{tier}: serves no exit: {functions}")
    others = sum(functions["tiers"].values()) - functions["tiers"][tier]
    check(others == 0, f"{tier}: other tiers serve {others}")
    return code


def visit(spoor, program, tier, options):
    with running([program, "compute"]) as process:
        before = code_of(process.pid)
        check(patched(spoor, process.pid, tier, options) != before, f"{tier}: no code was patched")
        check_left(process.pid, before)


# What the program does with its sleds before the attach and during it: patch, unpatch.
FLIPS = ("u", ""), ("u", "p"), ("u", "pu"), ("p", ""), ("p", "u"), ("p", "up")


def flip(process, how):
    process.stdin.write(how.encode())
    process.stdin.flush()
    check(process.stdout.readline() == how.encode() + b"\n", f"{how}: not done")


def await_work(spoor, pid):
    """Waits until each function of the program has surely been called."""
    until = time.monotonic() + PATIENCE_S
    while int(run([spoor.path, "ctl", str(pid), "status"]).stdout.decode().split(" events")[0].split()[-1]) < 50000:
        check(time.monotonic() < until, "no event is recorded")


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
                check(code_of(process.pid) != codes[before], f"{what}: no code was patched")
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
