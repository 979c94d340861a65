#!/usr/bin/env python3
"""spoor attaches to a program at work and detaches, several times. The program does not notice. Its code and
maps are the same afterwards. The recorded calls are right.

    attach_cycles.py [--cycles=N] [--steady] [--whole] SPOOR PROGRAM [ARGUMENT...]

The last of six cycles captures values in each function of the program.

--steady: the program's own maps do not change while it runs. --whole: no function is refused for want of
room, unless it captures values; the program may be static.
"""
import os
import signal
import sys

from attach import Spoor, attach_for, check, check_left, code_of, ends_by_signal, main, running, signs_of_spoor

LIBRARY = "libc.so*"
WAYS = ([], ["-M", "*"], ["-M", "*", "--overflow=wait"], ["-M", LIBRARY, "--overflow=overwrite"],
        ["-M", "*", "--no-follow"])
# Each function of the program captures values, also behind pointers that lead nowhere.
WILD = ["-A", "*@%rdi/s,%rsi/x,fparg1/64", "-R", "*@retval/s"] if os.uname().machine == "x86_64" else ["-a"]
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


DURATIONS = ("300ms", "3s", "20s")  # a busy machine may let a program do nothing for a while


def record(spoor, process, way):
    """Attaches for longer and longer until events are recorded; returns info --json."""
    children = "forks" in process.args and "--no-follow" not in way
    for duration in DURATIONS:
        info = attach_for(spoor, process.pid, duration, *way)
        if info["events"]["entry"] > 0 and (info["processes"] > 1 or not children):
            return info
    check(not children or info["processes"] > 1, f"{way}: no child was traced")
    return info


def check_recorded(info, way, whole):
    """The stubs of WILD need more room than a program of --whole leaves."""
    reasons = [refused["reason"] for refused in info["functions"]["refused"]]
    check(not whole or way is WILD or "no-address" not in reasons, f"{way}: refused: {reasons}")
    check(info["functions"]["instrumented"] > 0, f"{way}: no function was instrumented")
    check(info["events"]["entry"] > 0, f"{way}: no event")
    check(info["command"][1:], f"{way}: the command is not known: {info['command']}")


def attach_and_detach(spoor, process, cycles, steady, whole):
    pid = process.pid
    before = code_of(pid) if steady else None
    for number in range(cycles):
        way = [*WAYS, WILD][number % (len(WAYS) + 1)]
        if whole and LIBRARY in way:
            continue
        check_recorded(record(spoor, process, way), way, whole)
        if steady:
            check_left(pid, before)
        check(not signs_of_spoor(pid), f"{way}: left in the process: {signs_of_spoor(pid)}")
    for number in ENDINGS:
        ends_by_signal(spoor, pid, number, "-M", "*")
        check(not signs_of_spoor(pid), f"after signal {number}: left in the process: {signs_of_spoor(pid)}")
    if steady:
        check_left(pid, before)


def test(spoor, options, command):
    cycles = next((int(o.split("=")[1]) for o in options if o.startswith("--cycles=")), len(WAYS) + 1)
    with running(command) as process:
        attach_and_detach(spoor, process, cycles, "--steady" in options, "--whole" in options)


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    chosen = [w for w in sys.argv[1:] if w.startswith("--")]
    program = [os.path.realpath(words[1]), words[2], *map(os.path.realpath, words[3:])]
    subject = Spoor(words[0])
    main(lambda: test(subject, chosen, program))
