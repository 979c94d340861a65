#!/usr/bin/env python3
"""libcalls.py SPOOR LIBRARY PROGRAM: --libcalls records the calls that the program itself makes into its library, and
no others; also together with its own functions, and with other filters.

The program prints these calls (programs/expect.h), each with the file name of the library.
"""
import collections
import os
import sys

from harness import (Spoor, check, check_balanced, check_lossless, check_same, check_same_outcome, main, run)
from run import KINDS, Expectation, tree_of


def sequences(spoor, module):
    """Returns the sorted marks of each thread that calls MODULE, and the modules in the trace."""
    seen, modules = collections.defaultdict(list), set()
    items = list(spoor.replay())
    check_balanced(items)
    for item in items:
        modules.add(item["module"])
        if item["module"] == module:
            seen[item["tid"]].append(f"{KINDS[item['kind']]} {item['function']}")
    return sorted(seen.values()), modules


def expected_sequences(expected, keep=lambda name: True):
    wanted = [[f"{m.mark} {m.function}" for m in marks if keep(m.function)]
              for marks in expected.threads.values()]
    return sorted(marks for marks in wanted if marks)


def compare_report(spoor, expected, module):
    wanted = collections.Counter(m.function for marks in expected.threads.values() for m in marks
                                 if m.mark == ">")
    seen = {row["function"]: row["calls"] for row in spoor.report() if row["module"] == module}
    check(seen == dict(wanted), f"report: {seen} instead of {dict(wanted)}")


def compare_graph(spoor, expected, module):
    """Compares the calls of the library by path, without other modules."""
    names = {m.function for marks in expected.threads.values() for m in marks}
    wanted, seen = collections.Counter(), collections.Counter()
    for marks in expected.threads.values():
        wanted += tree_of(marks)

    def walk(node, path):
        if node["name"] in names:
            path = (*path, (module, node["name"]))
            seen[path] += node["calls"]
        for child in node["children"]:
            walk(child, path)

    graph = spoor.graph()
    for node in graph if isinstance(graph, list) else [graph]:
        walk(node, ())
    check_same("graph", sorted(map(str, wanted.items())), sorted(map(str, seen.items())))


def test(path, library, program):
    spoor, module, name = Spoor(path), os.path.basename(library), os.path.basename(program)
    alone = run([program])
    expected = Expectation(alone.stdout.decode(), name)

    def traced(*options, keep=lambda name: True):
        """Records and compares the library's calls of functions that KEEP accepts. Returns the modules in the
        trace."""
        what = f"spoor record --libcalls {' '.join(options)}"
        check_same_outcome(alone, spoor.record(["--libcalls", *options], [program]), what)
        check_lossless(spoor.info())
        seen, modules = sequences(spoor, module)
        if spoor.is_whole():
            check_same(what, expected_sequences(expected, keep), seen)
        return modules

    modules = traced()
    check(name not in modules, f"functions of {name} are traced: {modules}")
    if spoor.is_whole():
        compare_report(spoor, expected, module)
        compare_graph(spoor, expected, module)
    modules = traced("-M", name)
    check(name in modules or not spoor.is_whole(), f"no functions of {name} are traced: {modules}")
    chosen = sorted({m.function for marks in expected.threads.values() for m in marks})[0]
    modules = traced("-F", chosen, keep=lambda function: function == chosen)
    check(modules <= {module}, f"-F {chosen} shows {modules}")
    modules = traced("-F", f"{name}!main", "-N", chosen, keep=lambda function: function != chosen)
    check(name in modules or not spoor.is_whole(), f"-F {name}!main shows {modules}")


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
