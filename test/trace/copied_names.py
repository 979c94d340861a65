#!/usr/bin/env python3
"""copied_names.py SPOOR MANGLED [FOLDER]: a function's name, copied from any output, names it in every command.

MANGLED has symbols of C++, Rust and D (programs/mangled.c). FOLDER has sources in these languages; what there is a
compiler for is tried as well.
"""
import os
import re
import shutil
import subprocess
import sys

from harness import Spoor, check, check_same, main, run
from terminal import on_terminal

MEMBERS = ["space::member() [clone .isra.0]", "space::member()::{lambda()#1}::operator()() const",
           "space::member(char const*)", "space::member(int)"]
GENERICS = ["names::generic", "names::generic::<&str, 7>", "names::generic::<[u8; 2], 5>"]
FRONT = ("std.algorithm.iteration.MapResult!(names.main().__lambda7, std.range.iota!(int, int).iota(int, int).Result)"
         ".MapResult.front()")
STRINGS = ("void space::shaped<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >(std::"
           "vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::allocator<std::"
           "__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > const&)")
SHAPED = ["int space::shaped<int>(int)", STRINGS]
# What a pattern stands for, besides each name for itself.
PATTERNS = {
    "space::member": MEMBERS,
    "space::shaped": SHAPED,
    "space::shaped*": SHAPED,
    "space::shaped<int>": SHAPED[:1],
    "space::shaped<std::string>(std::vector<std::string> const&)": SHAPED[1:],
    "void space::shaped<…>(…)": SHAPED[1:],
    "space::shaped<…>": SHAPED,
    "space::pick(int *)": ["space::pick(int*)"],
    "space::*(int)": ["int space::shaped<int>(int)", "space::member(int)", "space::tagged[abi:cxx11](int)"],
    "operator<<": ["void operator<< <char>(char)"],
    "mangled*!(anonymous namespace)::hidden": ["(anonymous namespace)::hidden()"],
    "names::generic": GENERICS,
    "names::generic::<…>": GENERICS[1:],
    "names::Shape::area": ["<(u8,[i32; 4]) as names::Shape>::area", "<[u8; 32] as names::Shape>::area"],
    "names::generic::h15ab31fc32f51f0b": ["names::generic"],
    "names.*(int)*": ["names.guarded(int)", "names.risky(int) [clone .isra.0]"],
    "names.risky": ["names.risky(int) [clone .isra.0]"],
    "std.algorithm.iteration.MapResult.front": [FRONT],
    "plain*": ["plain", "plain.part.0"],
}


def shown(rows):
    return sorted({row["function"] for row in rows})


class Names:
    def __init__(self, spoor, program):
        self.spoor, self.program = spoor, program
        spoor.record(["-o", "all"], [program], trace="all")
        self.all = shown(spoor.json("report", "--json", "all"))

    def views(self, pattern, wanted):
        """The views and `explain` select what is WANTED."""
        check_same(f"report -F {pattern}", wanted, shown(self.spoor.json("report", "--json", "-F", pattern, "all")))
        check_same(f"explain -F {pattern}", wanted,
                   shown(self.spoor.json("explain", "--json", "-F", pattern, self.program)))

    def recorded(self, pattern, wanted):
        done = run([self.spoor.path, "record", "--no-follow", "-q", "-o", "some", "-F", pattern, self.program])
        check(done.status == 0, f"record -F {pattern}: {done.stderr.decode()}")
        check_same(f"record -F {pattern}", wanted, shown(self.spoor.json("report", "--json", "some")))

    def other_views(self, pattern, wanted):
        check(wanted[0].encode() in self.spoor.view("replay", "-F", pattern, "all"), f"replay -F {pattern}")
        check(wanted[0].encode() in self.spoor.view("graph", "all", pattern), f"graph {pattern}")
        rest = [name for name in self.all if name not in wanted or "::h15ab" in pattern]  # one of two is left
        check_same(f"report -N {pattern}", rest, shown(self.spoor.json("report", "--json", "-N", pattern, "all")))


def mangled(spoor, program):
    names = Names(spoor, program)
    for name in names.all:
        names.views(name, PATTERNS.get(name, [name]))
    for name in (FRONT, "space::tagged[abi:cxx11](int)", "space::pick(int*)"):
        names.recorded(name, [name])
        names.other_views(name, [name])
    for pattern, wanted in PATTERNS.items():
        names.views(pattern, sorted(wanted))
        names.recorded(pattern, sorted(wanted))


def suggestions(spoor, program):
    """Names of the scope that was typed come first, nearest first."""
    for typed, first in (("space::memebr", "space::member"), ("names::Shape::aera", "names::Shape::area"),
                         ("names.gaurded", "names.guarded"), ("space::zzzzzzzz(int)", "space::"),
                         ("membr", "space::member"), ("plane", "plain")):
        for words in (["record", "--no-follow", "-F", typed, program], ["report", "-F", typed, "all"]):
            done = run([spoor.path, *words])
            text = done.stderr.decode()
            check(done.status in (1, 125) and f"did you mean {first}" in text, f"{words}: {text}")


COMPILERS = {"template-names.cc": [["g++", "-O1"], ["clang++", "-O1"]],
             "names.rs": [["rustc", "-O"], ["rustc", "-O", "-C", "symbol-mangling-version=v0"]],
             "names.d": [["gdc", "-O1"], ["ldc2", "-O1"]]}


def copied(spoor, program):
    """Each name that the report shows selects its rows, and no others but those it is a part of."""
    names = Names(spoor, program)
    for name in names.all[::len(names.all) // 20 + 1]:
        rows = shown(spoor.json("report", "--json", "-F", name, "all"))
        check(name in rows, f"report -F {name}: {rows}")
        check(all(row == name or name in row for row in rows), f"report -F {name}: {rows}")
        check(not any(other == name for other in shown(spoor.json("report", "--json", "-N", name, "all"))), name)
    shortened(spoor)
    return names


def shortened(spoor):
    """The same of names as a terminal shows them."""
    for columns in (80, 64):
        lines = on_terminal(columns, [spoor.path, "report", "--columns=calls,self,function", "all"])
        rows = lines[1:lines.index("")]
        for row in rows[::len(rows) // 12 + 1]:
            calls, name = re.fullmatch(r" *(\d+) +[\d.]+ +\w+  (?:[^\w<(_\u2026] )*(.*)", row).groups()
            found = [one["calls"] for one in spoor.json("report", "--json", "-F", name, "all")]
            check(int(calls) in found, f"report -F {name}: {found}")


def real(spoor, folder):
    for source, commands in COMPILERS.items():
        for number, command in enumerate(commands):
            program = os.path.abspath(f"{source}-{number}")
            output = [f"-of={program}"] if command[0] == "ldc2" else ["-o", program]
            if not shutil.which(command[0]) or subprocess.run(
                    [*command, os.path.join(folder, source), *output], check=False,
                    stderr=subprocess.DEVNULL).returncode:
                print(f"skipped: {' '.join(command)} {source}: no such compiler")
                continue
            copied(spoor, program)


def test(path, program, folder):
    spoor = Spoor(path)
    mangled(spoor, program)
    suggestions(spoor, program)
    real(spoor, folder)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
