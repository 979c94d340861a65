#!/usr/bin/env python3
"""task_prices.py SPOOR PROGRAM [THREADS]: thousands of short threads, and programs executed one after the other, are recorded
exactly. A birth and an exec take spoor's tracer few system calls (programs/task_prices.c).

strace counts the calls of spoor's main thread, which is the tracer. Those that depend on what else the machine does
(waits, and reads of what woke the thread) do not count. The price of one is the difference of two recordings.
"""
import collections
import os
import re
import shutil
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

MANY_THREADS, FEW_THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 1500, 300
MANY_EXECS, FEW_EXECS = 30, 10
TIMING = {"wait4", "waitid", "poll", "read", "futex", "rt_sigtimedwait", "rt_sigprocmask", "total", "munmap", "mmap",
          "brk"}
# {system calls: the most for one}. A birth opens no file. (Before: 11 ptrace, 5 openat, 36 in all.)
BIRTH = {"ptrace": 10, "openat": 0, "all": 16}
# An exec with all libraries, which are planned once. (Before: 71 openat, 62 newfstatat, 1 clone3; then 226 ptrace, 39
# openat, when each remote call had stops of its own, and each question to /proc opened a file.)
# Text of libraries is written on all processors: a thread for each other one.
EXEC = {"ptrace": 180, "openat": 28, "newfstatat": 24, "clone3": len(os.sched_getaffinity(0)) - 1}
# The dynamic linker calls its hook twice, and is stopped once: when it has mapped the libraries.
STOPS = 1


def record_counted(spoor, options, command):
    """Records under strace. Returns {system call: how often}, without looks at names of threads (ten times a second),
    and at states of threads that are not yet stopped: how many depends on what else the machine does."""
    done = run(["strace", "-qq", "-o", "calls", *spoor.command(options, command)])
    check(done.status == 0, f"{command}: status {done.status}: {done.stderr.decode(errors='replace')}")
    counts = collections.Counter()
    with open("calls", encoding="ascii", errors="replace") as lines:
        for line in lines:
            name = re.match(r"\w+(?=\()", line)
            counts[name.group() if name else "other"] += 1
            if re.match(r'openat\(.*/(comm|stat)"', line):
                counts.subtract(["openat", "newfstatat", "read", "close"])
    check(counts["ptrace"] > 0, f"strace counted no ptrace: {counts}")
    return counts


def count_interrupts(spoor, command):
    """How often the tracer asks a thread to stop (PTRACE_INTERRUPT) while it records COMMAND with all libraries."""
    done = run(["strace", "-qq", "-e", "trace=ptrace", "-o", "requests", *spoor.command(["-M", "*"], command)])
    check(done.status == 0, f"{command}: status {done.status}: {done.stderr.decode(errors='replace')}")
    with open("requests", encoding="ascii", errors="replace") as lines:
        return sum("PTRACE_INTERRUPT" in line for line in lines)


def check_written(spoor, program):
    """Trampolines of libraries are written once: later processes map them from a file."""
    def count_written(size):
        done = run(["strace", "-qq", "-e", "trace=pwrite64", "-o", "writes",
                    *spoor.command(["-M", "*"], [program, "execs", str(size)])])
        check(done.status == 0, f"{program}: status {done.status}: {done.stderr.decode(errors='replace')}")
        with open("writes", encoding="ascii", errors="replace") as lines:
            return sum(int(line.rsplit("=", 1)[1]) for line in lines if re.search(r"= \d+$", line))

    few, many = count_written(FEW_EXECS), count_written(MANY_EXECS)
    each = (many - few) / (MANY_EXECS - FEW_EXECS)
    first = few - FEW_EXECS * each  # the first process has the libraries, too
    check(each < 0.7 * first, f"{each:.0f} bytes are written for each exec, {first:.0f} for the first one")


def check_stops(spoor, program):
    few, many = (count_interrupts(spoor, [program, "execs", str(size)]) for size in (FEW_EXECS, MANY_EXECS))
    each = (many - few) / (MANY_EXECS - FEW_EXECS)
    check(each <= STOPS + 0.3, f"{each} stops for an exec, without those of remote calls")


def check_price(spoor, options, program, kind, sizes, most):
    few, many = (record_counted(spoor, options, [program, kind, str(size)]) for size in sizes)
    price = {name: (many[name] - few[name]) / (sizes[1] - sizes[0]) for name in many}
    price["all"] = sum(value for name, value in price.items() if name not in TIMING)
    for name, limit in most.items():
        check(price.get(name, 0) <= limit + 0.5, f"{kind}: {name} {price.get(name, 0):.1f} times: {price}")


def check_threads(spoor, program):
    command = [program, "threads", str(MANY_THREADS)]
    check_same_outcome(run(command), spoor.record([], command), program)
    info = spoor.info()
    check_lossless(info)
    check(info["threads"] == MANY_THREADS + 1, f"{info['threads']} threads")
    if spoor.is_whole():
        calls = {row["function"]: row["calls"] for row in spoor.report()}
        check((calls["work"], calls["body"]) == (MANY_THREADS, MANY_THREADS), f"report: {calls}")


def check_execs(spoor, program):
    """Each process has the same calls up to main, in the program and its libraries."""
    command = [program, "execs", str(MANY_EXECS)]
    check_same_outcome(run(command), spoor.record(["-M", "*"], command), program)
    info = spoor.info()
    check_lossless(info)
    check(info["processes"] == MANY_EXECS + 1, f"{info['processes']} processes")
    if spoor.is_whole():
        entries = collections.Counter()
        for item in spoor.replay():
            if item["kind"] == "entry" and item["function"] in ("work", "main", "exit"):
                entries[item["function"]] += 1
        # A forked child begins in main, which it leaves by executing the program.
        right = {"work": MANY_EXECS, "main": 2 * MANY_EXECS + 1, "exit": MANY_EXECS + 1}
        check(entries == right, f"replay: {entries}")


def check_moved_calls(spoor, program):
    """The trampoline of call_work holds a return address, which differs from process to process."""
    command = [program, "execs", str(MANY_EXECS)]
    check_same_outcome(run(command), spoor.record(["--tier=jump"], command), program)
    if spoor.is_whole():
        calls = {row["function"]: row["calls"] for row in spoor.report()}
        check(calls.get("call_work") == MANY_EXECS, f"report: {calls}")


def test(path, program):
    spoor = Spoor(path)
    check_threads(spoor, program)
    check_execs(spoor, program)
    check_moved_calls(spoor, program)
    if shutil.which("strace"):
        check_price(spoor, [], program, "threads", (FEW_THREADS, MANY_THREADS), BIRTH)
        check_price(spoor, ["-M", "*"], program, "execs", (FEW_EXECS, MANY_EXECS), EXEC)
        check_stops(spoor, program)
        if os.uname().machine == "x86_64":
            check_written(spoor, program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:3]]
    main(lambda: test(*arguments))
