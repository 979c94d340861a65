#!/usr/bin/env python3
"""Tasks that have no thread pointer, and run at the same time, are told apart where lanes are found by that; and
when spoor has left they have none, as before. On 32-bit Arm nobody can lend them one: what they do is recorded or
counted as lost.

    bare.py SPOOR PROGRAM
"""
import os
import platform
import sys

from attach import Spoor, attach_until_seen, check, check_left, code_of, main, run, running

TASKS, CALLS = 5, 2000
ALL_ARE_TOLD = platform.machine() in ("x86_64", "aarch64")


def calls_of(spoor):
    return {row["function"]: row["calls"] for row in spoor.report()}


def test(spoor, program):
    alone, traced = run([program, str(CALLS)]), spoor.record([], [program, str(CALLS)])
    check((alone.status, alone.stdout) == (traced.status, traced.stdout), f"{alone}, {traced}")
    calls = calls_of(spoor)
    events, lost = 2 * (calls["work"] + calls["step"]), spoor.json("info", "--json", "trace")["events"]["lost"]
    check(events + lost == 2 * TASKS * (1 + CALLS), f"{lost} lost; calls: {calls}")
    if ALL_ARE_TOLD:
        check((calls["work"], calls["step"]) == (TASKS, TASKS * CALLS), f"calls: {calls}")
    with running([program]) as process:
        before = code_of(process.pid)
        for _ in range(3):
            info = attach_until_seen(spoor, process.pid, "--overflow=wait", events=20000)
            check(info["threads"] == 1 + TASKS, f"threads: {info}")
            events = info["events"]
            check(events["entry"] > 0 and (not events["lost"] or not ALL_ARE_TOLD), f"events: {info}")
            check_left(process.pid, before)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    path = os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
