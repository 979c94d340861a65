#!/usr/bin/env python3
"""A program reads the same facts about itself from the kernel as untraced. Exceptions are in doc/LIMITS.md: the
tracer's process ID, spoor's maps, and LeakSanitizer, which does not run under a tracer.

    proc_facts.py SPOOR LEAKING

LEAKING is a program that leaks memory, built with AddressSanitizer.
"""
import os
import re
import sys

from harness import Spoor, check, check_lossless, check_same, lines_of, main, run

FILES = ["status", "limits", "personality", "coredump_filter", "oom_score_adj", "timerslack_ns", "cgroup", "comm",
         "cmdline", "environ", "uid_map", "setgroups", "attr/current"]
# Lines that differ from run to run: process IDs, memory, context switches, the user's queued signals, and the size
# of the descriptor table, which is inherited.
CHANGING = re.compile(r"(Tgid|Pid|PPid|NStgid|NSpid|Vm\w+|Rss\w+|(non)?voluntary_ctxt_switches|FDSize|SigQ):")
TRACER = re.compile(r"TracerPid:\t(\d+)$")
MAP = re.compile(r"[0-9a-f]+-[0-9a-f]+ (....) [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) \d+ *(.*)$")
WAYS = [], ["-M", "*"]
HINT = b"LeakSanitizer does not work under ptrace"


def stable_lines(outcome, file):
    check(outcome.status == 0 and not outcome.stderr, f"{file}: status {outcome.status}: {outcome.stderr}")
    return [line for line in lines_of(outcome.stdout) if not CHANGING.match(line) and not TRACER.match(line)]


def tracer_pid(outcome):
    return [int(found[1]) for line in lines_of(outcome.stdout) if (found := TRACER.match(line))][0]


def check_files(spoor, environment):
    for file in FILES:
        command = ["cat", f"/proc/self/{file}"]
        alone = run(command, env=environment)
        if alone.status:
            continue  # this kernel has no such file
        for options in WAYS:
            traced = spoor.record(options, command, env=environment)
            check_same(f"{' '.join(options)}: {file}", stable_lines(alone, file), stable_lines(traced, file))
            check(file != "status" or (tracer_pid(alone) == 0 and tracer_pid(traced) != 0), "wrong TracerPid")


def check_descriptors(spoor, environment):
    """The same descriptors are open. One of them is the directory that the shell reads."""
    command = ["sh", "-c", "for fd in /proc/$$/fd/*; do echo $fd; done"]
    numbers = lambda outcome: [line.rsplit("/", 1)[1] for line in lines_of(outcome.stdout)]
    alone = run(command, env=environment)
    for options in WAYS:
        check_same(f"{' '.join(options)}: open files", numbers(alone),
                   numbers(spoor.record(options, command, env=environment)))


def check_maps(spoor, environment):
    """Additional maps are areas (executable, not writable, without a file) and spoor's shared files only."""
    command = ["cat", "/proc/self/maps"]
    kinds = lambda outcome: [MAP.match(line).groups() for line in lines_of(outcome.stdout)]
    alone = set(kinds(run(command, env=environment)))
    for options in WAYS:
        for rights, device, name in set(kinds(spoor.record(options, command, env=environment))) - alone:
            right = (rights == "r-xp" and not name) or (rights[2:] == "-s" and name.startswith("/memfd:spoor"))
            check(right, f"{' '.join(options)}: maps: {rights} {device} {name}")


def check_leaks(spoor, program):
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}
    alone = run([program], env=environment)
    check(b"detected memory leaks" in alone.stderr, f"the program does not leak: {alone.stderr}")
    for options in WAYS:
        traced = spoor.record(options, [program], env=environment)
        check_same(f"{' '.join(options)}: output", lines_of(alone.stdout), lines_of(traced.stdout))
        check(HINT in traced.stderr, f"{' '.join(options)}: stderr: {traced.stderr}")
        check_lossless(spoor.info())


def test(spoor, program):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    check_files(spoor, environment)
    check_descriptors(spoor, environment)
    check_maps(spoor, environment)
    check_leaks(spoor, program)


if __name__ == "__main__":
    tool, leaking = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tool, leaking))
