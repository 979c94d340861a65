#!/usr/bin/env python3
"""Functions that only a breakpoint can serve: the program does the same as alone, and their calls are recorded.

    traps.py [--by-tier] SPOOR PROGRAM

PROGRAM is programs/breakpoint.c. --by-tier: for machines where other patches would fit, too. It selects breakpoints by
--tier, and makes few calls, because emulated machines are slow.
"""
import os
import signal
import sys

from fault import Spoor, check, check_lossless, check_right, main, run, started, stderr_of
from harness import check_same_outcome

BY_TIER = "--by-tier" in sys.argv
NAMED = ["-F", "breakpoint", "--trap-limit=1000000", *(["--tier=trap"] if BY_TIER else [])]
EVERYTHING = ["--tier=trap", "--trap-limit=1000000"]
FEW = ["10"] if BY_TIER else []


def calls(spoor):
    return {row["function"]: row["calls"] for row in spoor.report()}


def test_state(spoor, program):
    """SIGTRAP is blocked, ignored, handled or pending: no call changes that."""
    check_right(run([program, "all", *FEW]), "alone")
    for way in NAMED, [*NAMED, "--no-follow"], [*NAMED, "--overflow=drop", "--buffer=4K"], EVERYTHING:
        check_right(spoor.record(way, [program, "all", *FEW]), f"record {' '.join(way)}")


def test_counts(spoor, program):
    check_right(spoor.record(NAMED, [program, "hurry"]), "record")
    info = spoor.info()
    check_lossless(info)
    check(info["functions"]["tiers"] == {"pad": 0, "jump": 0, "hop": 0, "pun": 0, "trap": 1},
          f"tiers: {info['functions']}")
    if spoor.is_whole():
        check(calls(spoor) == {"breakpoint": 3000}, f"calls: {calls(spoor)}")


def test_others_have_none(spoor, program):
    """Only functions that are named in full have traps."""
    for pattern in "break*", "/breakpoint/":
        done = spoor.record(["--no-follow", "-F", pattern], [program, "hurry"])
        check(done.status == 125 and "none of which can be traced" in stderr_of(done), f"{pattern}: {stderr_of(done)}")
    check_right(spoor.record([], [program, "hurry"]), "record")
    functions = spoor.info()["functions"]
    check(functions["tiers"]["trap"] == functions["exit_tiers"]["trap"] == 0, f"tiers: {functions}")
    check("breakpoint" not in calls(spoor), "breakpoint() is traced")


def test_too_often(spoor, program):
    done = run([spoor.path, "record", "-o", "trace", *NAMED, "--trap-limit=100", "--", program, "hurry"])
    check_right(done, "record")
    lines = [line for line in stderr_of(done).splitlines() if line.startswith("spoor: breakpoint: ")]
    check(len(lines) == 1 and "more than 100 times within a second" in lines[0], stderr_of(done))
    check("--trap-limit" in lines[0] and "not seen" in lines[0], stderr_of(done))
    seen = calls(spoor)["breakpoint"]
    least = 49 if BY_TIER else 100  # a call hits two breakpoints if its return has one, too
    check(least < seen < 3000, f"{seen} calls recorded")


def test_steps(spoor, program):
    """A program that steps itself takes as many steps as alone: the breakpoint is withdrawn."""
    check_same_outcome(run([program, "walk"]), spoor.record(NAMED, [program, "walk"]), "walk")


def test_sandbox(spoor, program):
    done = run([spoor.path, "record", "-o", "trace", *NAMED, "--", program, "hide"])
    check_right(done, "hide")
    check("breakpoints could not be hidden" in stderr_of(done), stderr_of(done))


def test_debugger(spoor, program):
    for way in NAMED, [*NAMED, "--no-follow"]:
        check_right(spoor.record(way, [program, "debug"]), f"record {' '.join(way)}")


def test_end(spoor, program):
    """The user ends the recording while a background process runs on: spoor removes its breakpoints."""
    for options in NAMED, EVERYTHING:
        command = [spoor.path, "record", "-o", "trace", *options, "--", program, "leave"]
        with started(command) as tracer:
            has_message = any(b"background processes" in line for line in tracer.stderr)
            check(has_message, "no message about the background process")
            tracer.send_signal(signal.SIGINT)
            text = tracer.stdout.read()  # ends with the background process
        check(tracer.returncode == 42, f"status {tracer.returncode}")
        check(text == b"right\nlater\n", f"the background process: {text}")


def test(path, program):
    spoor = Spoor(path)
    for story in (test_state, test_counts, *(() if BY_TIER else (test_others_have_none, test_steps)), test_too_often,
                  test_sandbox, test_debugger, test_end):
        story(spoor, program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:] if argument != "--by-tier"]
    main(lambda: test(*arguments))
