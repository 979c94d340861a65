#!/usr/bin/env python3
"""short_names.py SPOOR PROGRAM: long names of C++ on a terminal of 80 columns. No line of a view is longer. Each row of
report has a readable name; rows of functions with different names have different ones, where there is room. --names
chooses the form, and JSON is always full."""
import os
import re
import subprocess
import sys

from harness import Spoor, check, main
from terminal import on_terminal

COLUMNS = 80
LONGEST = 40  # columns between brackets
VIEWS = (["report"], ["report", "--by-module"], ["report", "--stack"], ["report", "--slowest=9"], ["replay"],
         ["replay", "--time"],
         ["replay", "--stack"], ["graph"], ["info"])


def brackets(name):
    """The texts between brackets that hold no brackets."""
    return re.findall(r"[<(]([^<>()]*)[>)]", name)


def outside(name):
    """NAME without what is between brackets."""
    before = None
    while before != name:
        before, name = name, re.sub(r"[<(][^<>()]*[>)]", "", name)
    return name


def names_of(spoor, form, *options):
    """The names that report prints, without marks."""
    lines = spoor.view("report", f"--names={form}", "--columns=calls,function", *options, "trace").decode().splitlines()
    end = lines.index("")
    return [re.sub(r"^ *\d+ +(?:[^\w<(_] )*", "", line) for line in lines[1:end]]


def check_widths(spoor, program):
    for view in VIEWS:
        wide = [line for line in on_terminal(COLUMNS, [spoor.path, *view, "trace"]) if len(line) > COLUMNS]
        check(not wide, f"{view} at {COLUMNS} columns: {wide[:3]}")
    listed = on_terminal(COLUMNS, [spoor.path, "explain", "-v", program])
    check(max(map(len, listed)) <= COLUMNS, f"explain: {max(listed, key=len)}")
    full = on_terminal(COLUMNS, [spoor.path, "report", "--names=full", "trace"])
    check(full == spoor.view("report", "trace").decode().splitlines(), "report --names=full cuts lines")


def check_report(spoor):
    lines = on_terminal(COLUMNS, [spoor.path, "report", "trace"])
    check(lines[0].split() == ["CALLS", "TOTAL", "SELF", "FUNCTION"], f"columns: {lines[0]}")
    for row in lines[1:lines.index("")]:
        check(re.search(r"[A-Za-z_]\w+", outside(row[31:])), f"not readable: {row}")
    rows = lines[1:lines.index("")]
    different = len(set(names_of(spoor, "full")))
    check(len({row[31:] for row in rows}) == different, f"{different} functions, but equal names: {sorted(rows)}")
    wide = on_terminal(200, [spoor.path, "report", "trace"])
    check("P99" in wide[0] and "MIN" in wide[0], f"at 200 columns: {wide[0]}")


def check_short(spoor):
    full, short = names_of(spoor, "full"), names_of(spoor, "short")
    check(len(full) == len(short) > 60, f"{len(full)} rows, {len(short)} with short names")
    of = dict(zip(full, short))
    check(len(set(of.values())) == len(of), "different functions have equal short names")
    long = [name for name in short if max(map(len, brackets(name)), default=0) > LONGEST]
    check(not long, f"long brackets: {long[:3]}")
    check(any("std::string" in name for name in short), "no std::string")
    check(not any("std::basic_string<" in name or "__cxx11" in name for name in short), "a typedef is not folded")
    check(not any(name.startswith("void ") for name in short), "a type of a result is shown")
    check(any(name.startswith("std::for_each<") for name in short), "for_each, which returns a pointer to a function")
    sums = sorted(name for name in short if name.startswith("pair_of_types<") and "::sum(" in name)
    check(len(sums) == 3 and all(re.search("first_of|other_of", name) for name in sums), f"{sums}")


def check_forms(spoor, program):
    symbols = {line.split()[-1] for line in subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True,
                                                           check=True).stdout.splitlines()}
    mangled = names_of(spoor, "mangled")
    check(set(mangled) <= symbols and sum(name.startswith("_Z") for name in mangled) > 60, f"{set(mangled) - symbols}")
    for view in (["report", "--json"], ["replay", "--json"], ["graph", "--json"], ["explain", "--json"]):
        file = program if view[0] == "explain" else "trace"
        check(spoor.view(*view, "--names=short", file) == spoor.view(*view, file), f"{view}: not full")
    for view in "report", "replay", "graph":
        check(spoor.view(view, "--names=full", "trace") == spoor.view(view, "trace"), f"{view}: full in a pipe")
    folded = spoor.view("export", "--format=folded", "--names=short", "trace").decode()
    check("std::map<std::string, int>::operator[](std::string&&)" in folded, "folded stacks with short names")


def test(spoor, program):
    spoor.record(["--stack"], [program])
    if not spoor.is_whole():
        return
    check_widths(spoor, program)
    check_report(spoor)
    check_short(spoor)
    check_forms(spoor, program)


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
