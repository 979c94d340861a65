#!/usr/bin/env python3
"""Tasks without a thread pointer run and sleep at the same time. Lanes are found by the thread pointer, so spoor
assigns one to each task, and takes it away at detach. On 32-bit Arm only the task itself can set it. If a task would
be killed for that, its calls are recorded or counted as lost.

    no_thread_pointer.py SPOOR PROGRAM
"""
import os
import platform
import sys

from attach import Spoor, attach_for, check, check_left, check_lossless, code_of, main, run, running

TASKS, CALLS = 5, 2000
SETS_ITSELF = platform.machine().startswith("arm")


def calls_of(spoor):
    return {row["function"]: row["calls"] for row in spoor.report()}


def check_all_recorded(spoor):
    calls, info = calls_of(spoor), spoor.json("info", "--json", "trace")
    events = info["events"]
    check_lossless(info)
    check(events["entry"] == events["exit"] == TASKS * (1 + CALLS), f"{events}; calls: {calls}")
    check((calls["work"], calls["step"]) == (TASKS, TASKS * CALLS), f"calls: {calls}")


def check_each_task_calls(spoor):
    """Tasks that slept at attach are among the threads that have called step()."""
    threads = {row["tid"] for row in spoor.json("report", "--by-thread", "--json", "trace") if row["function"] == "step"}
    check(len(threads) == TASKS, f"threads that call: {threads}")


def attach_and_check(spoor, pid):
    info = attach_for(spoor, pid, "2s", "-F", "work", "-F", "step", "--overflow=wait")
    check(info["threads"] == 1 + TASKS, f"threads: {info}")
    return info


def test_killing_filter(spoor, program):
    with running([program, "warded"]) as process:
        before = code_of(process.pid)
        for _ in range(2):
            info = attach_and_check(spoor, process.pid)
            check(info["events"]["lost"] > 0, f"none lost: {info}")
            check_left(process.pid, before)


def test(spoor, program):
    alone = run([program, str(CALLS)])
    traced = spoor.record(["-F", "work", "-F", "step"], [program, str(CALLS)])
    check((alone.status, alone.stdout) == (traced.status, traced.stdout) == (0, b"ready\nright\n"), f"{alone}, {traced}")
    check_all_recorded(spoor)
    with running([program]) as process:
        before = code_of(process.pid)
        for _ in range(3):
            check_lossless(attach_and_check(spoor, process.pid))
            check_each_task_calls(spoor)
            check_left(process.pid, before)
    if SETS_ITSELF:
        test_killing_filter(spoor, program)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    path = os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
