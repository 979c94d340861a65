#!/usr/bin/env python3
"""unmatched.py SPOOR MANGLED COMPILER…: options that choose nothing are named, at once and at the end. The program
runs while its children are followed, as these may have what was meant."""
import os
import subprocess
import sys

from harness import Spoor, check, main, run

RUNS_ON = "the program runs nevertheless"


def record(spoor, *words):
    done = run([spoor.path, "record", "-o", "trace", *words])
    return done, done.stderr.decode().splitlines()


def children(spoor, program):
    """The shell has no such function; its child has. A name that nothing has is named twice."""
    done, lines = record(spoor, "-F", "space::pick", "-F", "space::pikc", "sh", "-c", f"{program}; echo said; exit 3")
    text = "\n".join(lines)
    check(done.status == 3 and done.stdout == b"said\n", f"status {done.status}, {done.stdout}: {text}")
    at_once, at_end = text.split(RUNS_ON)
    check("filter 'space::pick': matches no function" in at_once, text)
    check("filter 'space::pikc': matches no function" in at_once, text)
    check("'space::pick'" not in at_end, text)
    check("filter 'space::pikc': matches no function: did you mean space::pick" in at_end, text)
    names = {row["function"] for row in spoor.report()}
    check(names == {"space::pick(int*)", "space::pick(int, char*)"}, f"recorded: {names}")


def program_itself(spoor, program):
    done, lines = record(spoor, "-F", "space::pikc", program)
    check(done.status == 0 and RUNS_ON in lines[1], f"status {done.status}: {lines}")
    check([line for line in lines if "did you mean space::pick" in line] == [lines[0], lines[2]], f"{lines}")
    done, lines = record(spoor, "-F", "plain", "-N", "plian", "-F", "gone", program)
    check(done.status == 0 and len(lines) == 3 and "filter 'gone'" in lines[0] and "notrace 'plian'" in lines[1],
          f"{lines}")


def no_children(spoor, program):
    done, lines = record(spoor, "--no-follow", "-F", "space::pikc", "sh", "-c", f"touch started; {program}")
    check(done.status == 125 and len(lines) == 1 and "'space::pikc'" in lines[0], f"{done.status}: {lines}")
    check(not os.path.exists("started"), "the program was started")
    done, lines = record(spoor, "--no-follow", "-F", "space::pikc", "-F", "plain", program)
    check(done.status == 0 and "filter 'space::pikc'" in lines[0], f"{done.status}: {lines}")


def modules(spoor, program):
    done, lines = record(spoor, "-M", "mangeld", program)
    check(done.status == 0 and "module 'mangeld': matches no file" in lines[0] and "did you mean mangled?" in lines[0],
          f"{lines}")
    done, lines = record(spoor, "-M", "mangled", "-F", "libd!f", "-F", "plain", program)
    check(done.status == 0 and len(lines) == 2 and "filter 'libd!f': matches no file" in lines[0], f"{lines}")
    done, lines = record(spoor, "-M", "mangled", program)
    check(len(lines) == 1, f"{lines}")


def nameless(spoor, compiler):
    """A program without symbols and unwind tables has no functions; one without symbols has no names. The function of
    the second returns to nowhere, so it is not traced."""
    with open("bare.c", "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    for tables, why in (("-fno-asynchronous-unwind-tables", "has neither symbols nor unwind tables"),
                        ("-fasynchronous-unwind-tables", "none of its functions that the options choose can be")):
        subprocess.run([*compiler, "-O1", tables, "-nostartfiles", "-static", "-s", "-Wl,--build-id=none", "bare.c",
                        "-Wl,-emain", "-nostdlib", "-o", "bare"], check=True)
        done, lines = record(spoor, "./bare")
        check(f"bare: {why}" in lines[0] and "0 of 0 functions" in lines[-1], f"{tables}: {lines}")
        done, lines = record(spoor, "--no-follow", "-F", "main", "./bare")
        check(done.status == 125 and "bare: has no symbols" in lines[0], f"{tables}: {lines}")


def test(path, program, *compiler):
    spoor = Spoor(path)
    children(spoor, program)
    program_itself(spoor, program)
    no_children(spoor, program)
    modules(spoor, program)
    nameless(spoor, compiler)


if __name__ == "__main__":
    programs = [os.path.realpath(argument) for argument in sys.argv[1:3]]
    main(lambda: test(*programs, *sys.argv[3:]))
