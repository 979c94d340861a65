#!/usr/bin/env python3
"""thread_names.py SPOOR PROGRAM: threads have their last names in every view, and info has all of their names
(programs/thread_names.c)."""
import os
import subprocess
import sys
import time

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

LAST = {"main-thread", "at-its-end", "once-more", "short"}


def names_of(spoor):
    """{last name: all names}"""
    return {t["name"]: t.get("names", [t["name"]]) for t in spoor.info()["thread_list"]}


def check_views(spoor):
    for words in (["report", "--by-thread", "trace"], ["info", "trace"],
                  ["replay", "--columns=thread,tid", "trace"], ["export", "trace"]):
        text = spoor.view(*words).decode()
        missing = [name for name in LAST if name not in text]
        check(not missing, f"{words}: without {missing}")


def check_recorded(spoor, program):
    check_same_outcome(run([program]), spoor.record([], [program]), program)
    check_lossless(spoor.info())
    names = names_of(spoor)
    check(set(names) == LAST, f"names: {names}")
    check(names["at-its-end"][-2:] == ["by-itself", "at-its-end"], f"names: {names}")
    check(names["once-more"][-1] == "once-more" and len(names["main-thread"]) == 2, f"names: {names}")
    check_views(spoor)


def all_traced(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            if "\nTracerPid:\t0\n" in status.read():
                return False
    return True


def check_attached(spoor, program):
    """The names at attach, and those that come later, also of a thread that is left while it runs."""
    with subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with subprocess.Popen([spoor.path, "attach", "-o", "trace", "--events=1000000", str(process.pid)],
                              stderr=subprocess.PIPE) as attach:
            while not all_traced(process.pid):
                check(attach.poll() is None, "attach has ended")
                time.sleep(0.01)
            process.stdin.write(b"\n")
            process.stdin.close()
            check(process.wait() == 0, "the program failed")
            attach.communicate()
    names = names_of(spoor)
    check({"main-thread", "once-more", "at-its-end"} <= set(names), f"names: {names}")
    check(names["once-more"] == ["by-its-parent", "once-more"], f"names: {names}")


def test(path, program):
    spoor = Spoor(path)
    check_recorded(spoor, program)
    os.remove("trace")
    check_attached(spoor, program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
