#!/usr/bin/env python3
"""Tasks that have no thread pointer, and run at the same time, are told apart where lanes are found by that; and
when spoor has left they have none, as before. On 32-bit Arm nobody can lend them one: what they do is recorded or
counted as lost.

    bare.py SPOOR PROGRAM
"""
import os
import platform
import sys

from attach import Spoor, attach_for, attach_until_seen, check, check_left, code_of, main, run, running

TASKS, CALLS = 5, 2000
ALL_ARE_TOLD = platform.machine() in ("x86_64", "aarch64")


def calls_of(spoor):
    return {row["function"]: row["calls"] for row in spoor.report()}


def check_all_counted(spoor):
    """Each event of theirs is recorded or lost. (A call may be recorded whose end is not.)"""
    calls, events = calls_of(spoor), spoor.json("info", "--json", "trace")["events"]
    check(events["entry"] + events["exit"] + events["lost"] == 2 * TASKS * (1 + CALLS), f"{events}; calls: {calls}")
    if ALL_ARE_TOLD:
        check((calls["work"], calls["step"]) == (TASKS, TASKS * CALLS), f"calls: {calls}")


def come(spoor, pid):
    """Where most is lost, for some time instead of to a number of events."""
    if ALL_ARE_TOLD:
        return attach_until_seen(spoor, pid, "--overflow=wait", events=20000)
    return attach_for(spoor, pid, "3s", "--overflow=wait")


def test(spoor, program):
    alone = run([program, str(CALLS)])
    traced = spoor.record(["-F", "work", "-F", "step"], [program, str(CALLS)])
    check((alone.status, alone.stdout) == (traced.status, traced.stdout), f"{alone}, {traced}")
    check_all_counted(spoor)
    with running([program]) as process:
        before = code_of(process.pid)
        for _ in range(3):
            info = come(spoor, process.pid)
            check(info["threads"] == 1 + TASKS, f"threads: {info}")
            events = info["events"]
            check(events["entry"] > 0 if ALL_ARE_TOLD else events["entry"] + events["lost"] > 0, f"no event: {info}")
            check(not events["lost"] or not ALL_ARE_TOLD, f"lost: {events}")
            check_left(process.pid, before)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    path = os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
