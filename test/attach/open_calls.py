#!/usr/bin/env python3
"""Calls that are open at attach, at the end of a pause or at a change of the filter are in the trace. They return
like other calls.

    open_calls.py SPOOR PROGRAM [CYCLES]
"""
import collections
import json
import os
import subprocess
import sys

from attach import TIMEOUT, Spoor, attach_for, check, main, run, running

RECURSION = ["recurse"] * 6 + ["stand"]
IN_HANDLER = ["on_signal", "recurse", "recurse", "stand"]
# {thread: its open calls, the outermost first}. The coroutine's stack has only the coroutine's calls.
OPEN = sorted([["main", "nested", *RECURSION], ["handles", "interrupted", *IN_HANDLER],
               ["handles_apart", "interrupted", *IN_HANDLER],
               ["routine", "recurse", "recurse", "recurse", "stand"], ["stands", "stand"],
               ["opens", "wait_for_end"]])
INLINED = {"nested", "wait_for_end"}


def lines_of(spoor, trace):
    return list(spoor.lines_of_replay(trace))


def control(spoor, recorder, pid, *words):
    """Sends a control request as soon as the recording accepts requests."""
    while (done := run([spoor.path, "ctl", str(pid), *words])).status:
        check(recorder.poll() is None and b"no spoor" in done.stderr, f"{words}: {done}")


def attach_until_end(spoor, process, changes, *options):
    """Attaches, and makes CHANGES. Then the program returns from all its calls. Returns the lines of the trace
    after the last change."""
    command = [spoor.path, "attach", "-o", "trace", *options, str(process.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
        for words in (("status",), *changes):
            control(spoor, recorder, process.pid, *words)
        process.stdin.close()
        process.stdin = None
        _, stderr = recorder.communicate(timeout=TIMEOUT)
    check(recorder.returncode == 0, f"{options}: {recorder.returncode}: {stderr.decode()}")
    return since(changes, lines_of(spoor, "trace"))


def since(changes, lines):
    """The LINES after CHANGES, beginning with the calls that are open then."""
    marks = [at for at, line in enumerate(lines) if line["kind"] in ("paused", "filter")]
    check(len(marks) == sum(words[0] != "resume" for words in changes), f"{changes}: {marks}")
    later = lines[marks[-1] + 1:] if changes else lines
    begin = min(line["t_ns"] for line in later if line["kind"] == "entry")
    return [line for line in later if line["kind"] != "unwound" or line["t_ns"] > begin]


def check_ends(lines, options, may_stay):
    """Each open call returns, the innermost first."""
    stacks = collections.defaultdict(list)
    for line in lines:
        stack = stacks[line["tid"]]
        if line["kind"] == "entry":
            stack.append(line)
        elif line["kind"] == "exit" or may_stay(line):
            check(stack and stack[-1]["function"] == line["function"] and
                  stack[-1].get("before") == line.get("before"), f"{options}: {line} after {stack}")
            stack.pop()
        else:
            check(False, f"{options}: {line}")
    check(not any(stacks.values()), f"{options}: calls without an end: {dict(stacks)}")


def check_nested(spoor, program, shown, *options, may_stay=lambda line: False, changes=()):
    with running([program, "nested"]) as process:
        lines = attach_until_end(spoor, process, changes, *options)
    before = collections.defaultdict(list)
    for line in lines:
        if line["kind"] == "entry" and "before" in line and line["module"] == os.path.basename(program):
            before[line["tid"]].append(line["function"])
    wanted = sorted(filter(None, map(shown, OPEN)))
    found = sorted([name for name in names if name not in INLINED] for names in before.values())
    check(found == wanted, f"{options}: open calls: {found}, not {wanted}")
    check_ends(lines, options, may_stay)


LEFT_AT_ONCE = () if sys.maxsize > 2**32 else ("setcontext",)  # the kernel may be 64-bit in both cases


def never_returns(line):
    """The C library ends threads and the program inside its own functions. It ends coroutines by setcontext(),
    which has a control site on 32-bit Arm."""
    return not line["module"].startswith("open") and ("open" in line or line["function"] in LEFT_AT_ONCE)


def known(names):
    return [name for name in names if name not in INLINED]


def shallow(names):
    """The two outermost calls of each stack."""
    return known(names)[:4 if names[0] == "handles_apart" else 2]


def nested(spoor, program):
    check_nested(spoor, program, known)
    check_nested(spoor, program, known, "--threshold=1000s")
    check_nested(spoor, program, known, "--overflow=wait", "--buffer=4096")
    check_nested(spoor, program, shallow, "--depth=2")
    check_nested(spoor, program, only("recurse"), "-F", "recurse")
    check_nested(spoor, program, known, "-M", "*", may_stay=never_returns)


def only(function):
    return lambda names: [name for name in names if name == function]


def changed(spoor, program):
    """Changes of the filter, also with limits of depth and duration, which the drainer applies."""
    pause = (("pause",), ("resume",))
    choose = (("filter", "-M", "open*"),)
    for options, shown in (((), known), (("--threshold=1000s",), known), (("--depth=2",), shallow)):
        check_nested(spoor, program, shown, *options, changes=pause)
        check_nested(spoor, program, shown, "-F", "stand", *options, changes=choose)
        check_nested(spoor, program, shown, "-F", "stand", *options, changes=pause[:1] + choose + pause[1:])
        check_nested(spoor, program, only("stand"), *options, changes=(("filter", "-F", "stand"),))


def check_cycle(spoor, info):
    """The open calls lead down from main() wherever the program was stopped. Each exit has its entry."""
    rows = spoor.view("export", "--format=csv", "trace").decode().splitlines()[1:]
    ends = collections.Counter(row.rsplit(",", 4)[1] for row in rows)
    before = [row.split(",")[4:6] for row in rows if row.rsplit(",", 3)[1] == "1"]
    names = [name for _, name in sorted(before)]
    check(names[:2] == ["main", "turns"], f"open calls: {names}")
    check(ends["returned"] + ends["tail"] == info["events"]["exit"], f"strays: {ends}, {info}, {names}")
    check(len(rows) - len(before) == info["events"]["entry"], f"{len(rows)}, {info}, {names}")
    check(not ends["unwound"] and not ends["inferred"], f"left without a return: {ends}, {names}")


def turns(spoor, program, cycles):
    with running([program, "turns"]) as process:
        for _ in range(cycles):
            check_cycle(spoor, attach_for(spoor, process.pid, "1ms", "--overflow=wait"))


def test(spoor, program, cycles):
    nested(spoor, program)
    changed(spoor, program)
    turns(spoor, program, cycles)


if __name__ == "__main__":
    subject, target = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, target, int((sys.argv[3:] or ["10"])[0])))
