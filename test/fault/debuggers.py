#!/usr/bin/env python3
"""Debuggers do the same under spoor as alone. spoor traces the debugger, but not its tracees. Valgrind does the same as
alone, too, and is not traced.

    debuggers.py SPOOR PROGRAM

PROGRAM is programs/rights.c, which has one thread.
"""
import os
import re
import shutil
import sys

from fault import SKIP, Spoor, check, main, run, stderr_of

# Process IDs, addresses and times differ from run to run.
CHANGING = re.compile(r"0x[0-9a-f]+|\d{3,}|\d+\.\d+")


def steady(data):
    return CHANGING.sub("N", data.decode(errors="replace"))


def commands(program):
    words = [program, "have", "none", "two words"]
    gdb = ["gdb", "-nx", "-q", "-batch"]
    strace = ["strace", "-o", "log", "-e", "trace=openat,execve"]
    talk = ["-ex", "break work", "-ex", "run", "-ex", "bt 1", "-ex", "info registers rip", "-ex", "finish",
            "-ex", "delete", "-ex", "continue"]
    return {
        "gdb": [gdb + talk + ["--args", *words]],
        "strace": [strace + words, strace + ["-D", "-f", *words], strace + ["-f", "--seccomp-bpf", *words]],
    }


def logged(command):
    if command[0] != "strace":
        return []
    with open("log", encoding="utf-8", errors="replace") as log:
        calls = [line for line in log if "openat(" in line and "unfinished" not in line]
    return sorted(CHANGING.sub("N", re.sub(r"^\d+ +", "", line)) for line in calls)


def try_debugger(spoor, command):
    what = " ".join(command[:4])
    alone, calls = run(command), logged(command)
    check(alone.status in (0, 42), f"{what} alone: status {alone.status}: {stderr_of(alone)}")
    record = [spoor.path, "record", "-o", "trace", "--"]
    done = run(record + command)
    check(done.status == alone.status, f"{what}: status {done.status}: {stderr_of(done)}")
    check(steady(done.stdout) == steady(alone.stdout),
          f"{what}: printed\n{done.stdout.decode()}\ninstead of\n{alone.stdout.decode()}")
    check(logged(command) == calls, f"{what}: its log differs")
    check("spoor does not trace the processes that it traces" in stderr_of(done), f"{what}: no message: {stderr_of(done)}")
    modules = {row["module"] for row in spoor.report()}
    check(command[0] in modules, f"{what}: the debugger was not traced")
    check(os.path.basename(command[-4]) not in modules, f"{what}: spoor has traced the debugger's tracee")


def try_valgrind(spoor, program):
    """Valgrind's tools translate a program's code, and cannot run spoor's patches: spoor does not trace them."""
    command = ["valgrind", "-q", "--tool=none", program, "have", "none", "two words"]
    alone = run(command)
    for options in [], ["-M", "*"]:
        done = run([spoor.path, "record", "-o", "trace", *options, "--", *command])
        check((done.status, done.stdout) == (alone.status, alone.stdout),
              f"valgrind: status {done.status} instead of {alone.status}: {stderr_of(done)}")
        check("is Valgrind" in stderr_of(done), f"valgrind: no message: {stderr_of(done)}")


def test(spoor, program):
    os.environ["RIGHTS_TEST"] = "here"
    if shutil.which("valgrind"):
        try_valgrind(spoor, program)
    found = [tool for tool in commands("") if shutil.which(tool)]
    print("installed debuggers:", found)
    for tool in found:
        for command in commands(program)[tool]:
            try_debugger(spoor, command)


if __name__ == "__main__":
    if not shutil.which("gdb") and not shutil.which("strace"):
        print("no debugger is installed")
        sys.exit(SKIP)
    tracer, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, given))
