#!/usr/bin/env python3
"""A program changes its own code before spoor attaches, while it is attached, and between. Functions are traced while
their code is that of the file and cannot be written. The others run as untraced, and are counted.

    code_changes.py SPOOR PROGRAM
"""
import contextlib
import os
import subprocess
import sys

from attach import TIMEOUT, Spoor, check, code_of, main, run, running, signs_of_spoor

CALLS = 1000  # of each function, for each letter w
SWITCHED, OTHERS = ("at_entry", "behind_entry", "unchanged"), ("elsewhere",)
WARNING = "its code in memory differs from its file in"


def tell(process, letters):
    for letter in letters:
        process.stdin.write(letter.encode())
        process.stdin.flush()
        check(process.stdout.readline() == letter.encode() + b"\n", f"{letter}: not done")


def page_of_switches(pid):
    """The bytes of the page that the program writes."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        [start] = [int(line.split("-")[0], 16) for line in maps if "rwxp" in line]
        memory.seek(start)
        return memory.read(os.sysconf("SC_PAGESIZE"))


class Attached:
    """spoor, attached to PROCESS."""

    def __init__(self, spoor, process, recorder):
        self.spoor, self.process, self.recorder = spoor, process, recorder
        self.stderr = ""

    def ctl(self, *words):
        done = run([self.spoor.path, "ctl", str(self.process.pid), *words])
        check(done.status == 0, f"ctl {words}: {done.stderr}")

    def tell(self, letters):
        tell(self.process, letters)


@contextlib.contextmanager
def attached(spoor, process):
    pid = str(process.pid)
    command = [spoor.path, "attach", "-o", "trace", "--overflow=wait", pid]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
        while run([spoor.path, "ctl", pid, "status"]).status:
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
        now = Attached(spoor, process, recorder)
        yield now
        check(run([spoor.path, "ctl", pid, "stop"]).status == 0, "not stopped")
        now.stderr = recorder.communicate(timeout=TIMEOUT)[1].decode()
        check(recorder.returncode == 0, f"attach ended with {recorder.returncode}: {now.stderr}")


def check_calls(spoor, works, what):
    """WORKS: {function: how often the program was told to call it CALLS times while it was traced}."""
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    for function in SWITCHED + OTHERS:
        found, right = calls.get(function, 0), works.get(function, 0) * CALLS
        check(found == right, f"{what}: {function}: {found} calls instead of {right}")


def check_counts(spoor, stderr, changed, never, what):
    """CHANGED functions were left out at some time, NEVER of them were traced at no time."""
    functions = spoor.json("info", "--json", "trace")["functions"]
    refused = {row["reason"]: row["count"] for row in functions["refused"]}
    check(refused.get("text-changed", 0) == changed, f"{what}: refused: {refused}")
    others = sum(count for reason, count in refused.items() if reason != "text-changed")
    check(functions["instrumented"] + others + never == functions["seen"], f"{what}: {functions}")
    check(sum(functions["tiers"].values()) == functions["instrumented"], f"{what}: {functions}")
    lines = [line for line in stderr.splitlines() if WARNING in line]
    check(len(lines) == (changed > 0), f"{what}: not one line: {stderr}")


def joined(code):
    """CODE with adjacent maps of a file as one: the kernel joins such maps again only if nothing has written there."""
    *lines, digest = code.splitlines()
    maps = []
    for line in lines:
        place, rights, offset, *file = line.split()
        start, end = place.split("-")
        if maps and maps[-1][1] == start and maps[-1][2:] == [rights, file]:
            maps[-1][1] = end
        else:
            maps.append([start, end, rights, file])
    return maps, digest


def check_gone(spoor, process, before, what):
    found, now = signs_of_spoor(process.pid), code_of(process.pid)
    check(not found, f"{what}: left in the process: {found}")
    check(joined(now) == joined(before), f"{what}: its code has changed:\n{before}\n{now}")
    done = run([spoor.path, "detach", str(process.pid)])
    check(b"has nothing of spoor in it" in done.stderr, f"{what}: detach: {done.stderr}")


def changed_before(spoor, program, letters, missing):
    """Functions that have changed before are left out, and nothing else is."""
    with running([program]) as process:
        tell(process, letters)
        before = code_of(process.pid)
        for _ in range(2):
            with attached(spoor, process) as now:
                now.tell("w")
            check_calls(spoor, {name: 1 for name in SWITCHED + OTHERS if name not in missing}, letters)
            check_counts(spoor, now.stderr, len(missing), len(missing), letters)
            check_gone(spoor, process, before, letters)


def changed_meanwhile(spoor, program):
    with running([program]) as process:
        before = code_of(process.pid)
        with attached(spoor, process) as now:
            now.tell("w" "ew" "Ew" "mwMw")
        check_calls(spoor, {"at_entry": 4, "behind_entry": 4, "unchanged": 5, "elsewhere": 5}, "meanwhile")
        check_counts(spoor, now.stderr, 2, 0, "meanwhile")
        marked = {row["function"] for row in spoor.report() if row.get("partly")}
        check(marked == set(SWITCHED), f"calls may be missing: {marked}")
        check("† at_entry" in spoor.view("report", "trace").decode(), "the report marks nothing")
        check_gone(spoor, process, before, "meanwhile")


def open_meanwhile(spoor, program):
    """While the page is writable it has the program's own bytes, whatever spoor is asked for."""
    with running([program]) as process:
        tell(process, "o")
        opened, own = code_of(process.pid), page_of_switches(process.pid)
        tell(process, "c")
        before = code_of(process.pid)
        with attached(spoor, process) as now:
            now.tell("wo")
            for words in ((), ("filter", "-F", "*"), ("pause",), ("resume",), ("filter", "-N", "main")):
                if words:
                    now.ctl(*words)
                check(page_of_switches(process.pid) == own, f"{words}: patched while writable")
                now.tell("w")
            now.tell("ecwoEcw")
        check_calls(spoor, {"at_entry": 2, "behind_entry": 3, "unchanged": 3, "elsewhere": 6 + 1}, "open")
        check_gone(spoor, process, before, "open")
        with attached(spoor, process) as now:
            now.tell("wo")
        check_calls(spoor, {name: 1 for name in SWITCHED + OTHERS}, "open at the end")
        check_gone(spoor, process, opened, "open at the end")


def open_before(spoor, program):
    """The page is writable when spoor attaches, and read-only later."""
    with running([program]) as process:
        before = code_of(process.pid)
        tell(process, "o")
        with attached(spoor, process) as now:
            now.tell("wcw")
        check_calls(spoor, {"at_entry": 1, "behind_entry": 1, "unchanged": 1, "elsewhere": 2}, "open before")
        check_gone(spoor, process, before, "open before")


def test(spoor, program):
    changed_before(spoor, program, "e", ["at_entry"])
    changed_before(spoor, program, "m", ["behind_entry"])
    changed_before(spoor, program, "em", ["at_entry", "behind_entry"])
    changed_meanwhile(spoor, program)
    open_meanwhile(spoor, program)
    open_before(spoor, program)


if __name__ == "__main__":
    subject, path = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
