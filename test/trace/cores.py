#!/usr/bin/env python3
"""The core file of a program that dies under spoor shows the same as the core file of an untraced one: the frames of
each thread, the signal, the faulting address.

    cores.py SPOOR PROGRAM
"""
import ctypes
import glob
import os
import re
import resource
import shutil
import sys

from harness import SKIP, Spoor, check, check_lossless, check_same, check_same_outcome, main, run

# {argument of programs/crashes.cc: (status, function that must be on the stack)}
DEATHS = {"n": (134, "lets_none_pass(int)"), "d": (134, "throws_twice(int)"),
          "f": (139, "faults(int const*)"), "a": (134, "aborts(int)")}
GDB = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set width 0",
       "-ex", "thread apply 1 2 bt", "-ex", "thread 1", "-ex", "print $_siginfo.si_signo",
       "-ex", "print $_siginfo.si_code", "-ex", "print (long)$_siginfo._sifields._sigfault.si_addr"]
MORE_BYTES = 1 << 20  # enough for a small program's trampolines, not for a ring
PRCTL, PR_SET_THP_DISABLE = ctypes.CDLL(None).prctl, 41
FAULTED = "$2 = 1"  # SEGV_MAPERR; other signals' addresses are process ids
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) ?\(")


def enable_cores():
    """Allows core files, and forbids huge pages: cores would hold all 2 MB of each, even if all are zero."""
    PRCTL(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def missing():
    """Why this cannot run here, or None."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    if pattern.startswith(("|", "/")):
        return f"cores go to {pattern}"
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return "no core may be written"
    return None if shutil.which("gdb") else "gdb is not installed"


def run_to_core(run_it):
    """Returns the outcome; from gdb the main thread's lines and the other thread's functions; the core's size
    on disk."""
    for old in glob.glob("core*"):
        os.remove(old)
    outcome = run_it(preexec_fn=enable_cores)
    cores = glob.glob("core*")
    check(len(cores) == 1, f"status {outcome.status}, cores: {cores}")
    room = os.stat(cores[0]).st_blocks * 512
    text = run([*GDB, PROGRAM, cores[0]]).stdout.decode()
    first, _, rest = text.partition("Thread 2 (")
    other, _, last = rest.partition("[Switching")
    lines = [line for line in (first + last).splitlines() if line.startswith(("#", "$"))]
    if FAULTED not in lines:
        lines.pop()
    frames = [FRAME.match(line)[1] for line in other.splitlines() if line.startswith("#")]
    return outcome, [re.sub(r"0x[0-9a-f]{6,}", "PLACE", line) for line in lines], frames, room


def check_other(frames, right):
    """The other thread is in the loop, or in a function that the loop calls."""
    if frames[:1] == ["busy"]:
        frames = frames[1:]
    check_same("the other thread's frames", right[right.index("busy_loop"):], frames)


def test(spoor, program):
    for death, (status, function) in DEATHS.items():
        alone, lines, others, small = run_to_core(lambda **how: run([program, death], **how))
        check(alone.status == status, f"{death}: status {alone.status} alone")
        check(any(function in line for line in lines), f"{function} is not in {lines}")
        check(sum("dive(int, char)" in line for line in lines) == 6, f"frames are missing: {lines}")
        for options in [], ["-M", "*"]:
            what = f"spoor record {' '.join(options)} -- dies {death}"
            traced, traced_lines, frames, room = run_to_core(
                lambda **how: spoor.record(options, [program, death], **how))
            check_same_outcome(alone, traced, what)
            check_same(f"{what}: core", lines, traced_lines)
            check_other(frames, others)
            check(options or room < small + MORE_BYTES, f"{what}: the core takes {room} bytes")
            check_lossless(spoor.info())


def test_time(spoor, program):
    """A call that is open when the program crashes ends there: writing the core is not its time."""
    outcome, _, _, room = run_to_core(lambda **how: spoor.record(["-F", "faults*"], [program, "m"], **how))
    check(outcome.status == 139, f"status {outcome.status}")
    check(room > 200 << 20, f"the core takes {room} bytes only, so this shows nothing")
    end = spoor.json("info", "--json", "trace")["duration_ns"]
    row = next(row for row in spoor.report() if row["function"].startswith("faults("))
    start = next(line["t_ns"] for line in spoor.lines_of_replay("trace")
                 if line["kind"] == "entry" and line["function"].startswith("faults("))
    check(row["total_ns"] < (end - start) / 3, f"the fault lasts {row['total_ns']} of {end - start} ns")


if __name__ == "__main__":
    why_not = missing()
    if why_not:
        print(why_not)
        sys.exit(SKIP)
    tracer, PROGRAM = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, PROGRAM))
    main(lambda: test_time(tracer, PROGRAM))
