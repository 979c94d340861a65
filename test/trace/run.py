#!/usr/bin/env python3
"""Traces a program that prints its calls (programs/expect.h), and compares the trace with them.

    run.py SPOOR PROGRAM [--may-refuse=NAME,...] [--may-miss=NAME,...] [--library=FILE]...
           [--load-by NAME FILE] [--named-only] [--small-rings]

The program runs alone, traced with the default options, and traced with -M '*'. Output and exit status are the same
each time, and no event is lost. The program's marks are compared with replay's entries and exits of each thread,
report's counts and graph's tree. A line "calls: [MODULE!]NAME COUNT" stands for calls that are too many for marks.
If events are lost (harness.py), the recorded calls must be a part of the marks, in the same order.

Not compared: functions that explain calls refused (they must be in --may-refuse); ends of functions with inferred
exits; functions whose pun leads to an address where no area could be mapped (info shows that).

--may-miss: functions that are not compared. --library: a library of the tests, which the program loads and gets as
its argument. --load-by: sets an environment variable that makes the dynamic linker load FILE (LD_PRELOAD, LD_AUDIT).
--named-only: compares only functions that the program prints (for programs with parts of libraries).
--small-rings: runs both ways also with rings that become full again and again.
"""
import argparse
import collections
import os
import re
import sys

from harness import (Failure, Spoor, check, check_balanced, check_lossless, check_same,
                     check_same_outcome, main, run)

MARK = re.compile(r"^\|(\d+)(?:\.(\d+)(?:@(\d+))?)? ([><!+]) (?:([^!]+\.so)!)?(.+)$")
COUNT = re.compile(r"^calls: (?:([^!]+\.so)!)?(.+) (\d+)$")
KINDS = {"entry": ">", "exit": "<", "unwound": "!"}
# Functions that compilers and linkers add to every program, and functions that print marks.
ADDED_FUNCTIONS = re.compile(r"^(_|expect|frame_dummy|call_weak_fn|init_have_lse_atomics|atexit$|(de)?register_tm_clones|std::|.*\b(std|__gnu_cxx)::)")

Mark = collections.namedtuple("Mark", "stack order mark module function")


class Expectation:
    """The calls that a program has printed."""

    def __init__(self, text, program):
        self.program = program
        self.threads = collections.defaultdict(list)
        self.counts = collections.Counter()
        for line in text.splitlines():
            mark, count = MARK.match(line), COUNT.match(line)
            if mark:
                thread, stack, order, kind, module, function = mark.groups()
                self.threads[int(thread)].append(
                    Mark(int(stack or 0), order and int(order), kind, module or program, function))
            elif count:
                module, function, calls = count.groups()
                self.counts[module or program, function] = int(calls)
        check(self.threads or self.counts, "the program printed no marks")

    def functions(self):
        named = {(m.module, m.function) for marks in self.threads.values() for m in marks}
        return named | set(self.counts)

    def modules(self):
        return {module for module, _ in self.functions()}

    def limited(self, modules, dropped):
        """{thread: marks}, of MODULES only and without the functions DROPPED."""
        limited = {t: [m for m in marks if m.module in modules and
                       (m.module, m.function) not in dropped]
                   for t, marks in self.threads.items()}
        return {t: marks for t, marks in limited.items() if marks}


def tree_of(marks):
    """{path of functions: calls}. The marks must nest on each stack."""
    tree, stacks = collections.Counter(), collections.defaultdict(list)
    for m in marks:
        path = stacks[m.stack]
        if m.mark in ">+":
            path.append((m.module, m.function))
            tree[tuple(path)] += m.mark == ">"
        else:
            check(path and path[-1] == (m.module, m.function), f"the marks do not nest: {m}")
            path.pop()
    check(not any(stacks.values()), f"the marks leave calls open: {dict(stacks)}")
    return tree


def without_inherited(marks):
    """MARKS without the calls that a forked process begins with: report shows them apart."""
    stacks = collections.defaultdict(list)
    for m in marks:
        stack = stacks[m.stack]
        if m.mark in ">+":
            stack.append(m.mark)
        inherited = stack[-1:] == ["+"]  # a call may have begun in another thread
        if m.mark in "<!" and stack:
            stack.pop()
        if not inherited:
            yield m


def is_part(some, whole):
    """Whether SOME is a subsequence of WHOLE."""
    remaining = iter(whole)
    return all(element in remaining for element in some)


def check_parts(wanted, seen):
    """Each list of SEEN (by thread) is a subsequence of a list of WANTED, and no two of the same list."""
    taken = {}

    def place(tid, tried):
        """Finds a list for TID; another thread may have to take another list (augmenting paths)."""
        for i, whole in enumerate(wanted):
            if i not in tried and is_part(seen[tid], whole):
                tried.add(i)
                if i not in taken or place(taken[i], tried):
                    taken[i] = tid
                    return True
        return False

    for tid in seen:
        check(place(tid, set()), f"replay: calls of thread {tid} are not a part of any thread's marks: "
              f"{[name for _, name in seen[tid]][:20]}")


class Comparison:
    """Compares a program's marks with one trace of it."""

    def __init__(self, arguments, expected, options, spoor):
        self.arguments = arguments
        self.expected = expected
        self.everything = "-M" in options
        self.modules = {expected.program} | (expected.modules() if self.everything else set())
        self.spoor = spoor
        self.unreached = set()
        self.named = expected.functions()
        self.dropped, self.inferred = self.imperfect()

    def misses_puns(self, functions):
        """Whether some puns lead to addresses where no area could be mapped. Unknown, so true, if other modules
        are traced, too."""
        info = self.spoor.info()["functions"]
        planned = sum((f["entry"] == "pun") + f["exits"].get("pun", 0) for f in functions)
        reached = info["tiers"]["pun"] + info["exit_tiers"]["pun"]
        return planned > 0 and (self.everything or reached < planned)

    def imperfect(self):
        """Returns functions that are not traced, and functions with unpatched exits."""
        refused, inferred = set(), set()
        for path in [self.arguments.program] + self.arguments.library:
            functions = self.spoor.json("explain", "--json", path)
            missing = self.misses_puns(functions)
            for f in functions:
                place = (os.path.basename(path), f["function"])
                if place not in self.named:
                    continue
                if missing and f["entry"] == "pun":
                    self.unreached.add(place)
                if missing and f["exits"].get("pun", 0):
                    inferred.add(place)
                if f["refused"]:
                    check(f["function"] in self.arguments.may_refuse,
                          f"{f['function']} is not traced: {f['refused']}")
                    refused.add(place)
                elif f["function"] in self.arguments.may_miss:
                    refused.add(place)
                elif f["exits"].get("none", 0):
                    inferred.add(place)
        return refused | self.unreached, inferred

    def is_compared(self, module, function):
        if module not in self.modules or (module, function) in self.dropped:
            return False
        if (module, function) in self.named:
            return True
        return not self.arguments.named_only and not ADDED_FUNCTIONS.match(function)

    def marked(self, module, function):
        """Whether the function has marks: functions with a printed count have none."""
        return self.is_compared(module, function) and (module, function) not in self.expected.counts

    def comparable(self, module, function, mark):
        """Inferred ends are not compared: time and kind of such an end depend on the events that follow."""
        return mark in ">+" or (module, function) not in self.inferred

    def compare_sequences(self):
        seen = collections.defaultdict(list)
        items = list(self.spoor.replay())
        check_balanced(items)
        for item in items:
            mark = "+" if item["kind"] == "entry" and "before" in item else KINDS[item["kind"]]
            if self.marked(item["module"], item["function"]) and \
                    self.comparable(item["module"], item["function"], mark):
                seen[item["tid"]].append(f"{mark} {item['module']}!{item['function']}")
        wanted = [[f"{m.mark} {m.module}!{m.function}" for m in marks
                   if self.comparable(m.module, m.function, m.mark)]
                  for marks in self.expected.limited(self.modules, self.dropped).values()]
        for want, got in zip(sorted(wanted), sorted(seen.values())):
            check_same("replay", want, got)
        check(len(wanted) == len(seen), f"replay: {len(seen)} threads instead of {len(wanted)}")

    def rows(self):
        """{(module, function): sums of report rows}. A file that was rewritten has several modules."""
        rows = {}
        for row in self.spoor.report():
            sums = rows.setdefault((row["module"], row["function"]), collections.Counter())
            sums.update({name: row[name] for name in ("calls", "unwound")})
        return rows

    def compare_some(self):
        """For traces with lost events: the recorded calls are a part of the marks."""
        seen = collections.defaultdict(list)
        items = list(self.spoor.replay())
        check_balanced(items)
        for item in items:
            if item["kind"] == "entry" and "before" not in item and \
                    self.marked(item["module"], item["function"]):
                seen[item["tid"]].append((item["module"], item["function"]))
        wanted = [[(m.module, m.function) for m in marks if m.mark == ">"]
                  for marks in self.expected.limited(self.modules, self.dropped).values()]
        if wanted:
            check_parts(wanted, seen)
        shown = collections.Counter(item["function"] for item in items
                                    if item["kind"] == "entry" and "before" not in item)
        for place, row in self.rows().items():
            shown[place[1]] -= row["calls"]
            most = self.expected.counts.get(place)
            check(most is None or row["calls"] <= most,
                  f"report: {place[1]} was called {row['calls']} times, more than {most}")
        differ = {name: n for name, n in shown.items() if n}
        check(not differ, f"replay shows more calls than report, or fewer: {differ}")

    def compare_report(self):
        calls, unwound = collections.Counter(), collections.Counter()
        for place, count in self.expected.counts.items():
            if place[0] in self.modules:
                calls[place] = count
        for marks in self.expected.limited(self.modules, self.dropped).values():
            for m in without_inherited(marks):
                calls[m.module, m.function] += m.mark == ">"
                unwound[m.module, m.function] += m.mark == "!"
        for place, row in self.rows().items():
            if not self.is_compared(*place) or (self.expected.counts and place not in self.named):
                continue
            check(row["calls"] == calls[place],
                  f"report: {place[1]} was called {row['calls']} times instead of {calls[place]}")
            exact = place not in self.inferred and place not in self.expected.counts
            check(not exact or row["unwound"] == unwound[place],
                  f"report: {place[1]} unwound {row['unwound']} times instead of {unwound[place]}")
            del calls[place]
        missing = [place for place in calls if place not in self.dropped]
        check(not missing, f"report: not shown: {missing}")

    def compare_graph(self):
        wanted = collections.Counter()
        shared = []
        for marks in self.expected.limited(self.modules, self.dropped).values():
            wanted += tree_of([m for m in marks if m.order is None])
            shared += [m for m in marks if m.order is not None]
        wanted += tree_of(sorted(shared, key=lambda m: m.order))
        names = {function: module for module, function in self.named}
        seen = collections.Counter()

        def walk(node, path):
            module = names.get(node["name"])
            if module and self.marked(module, node["name"]):
                path = (*path, (module, node["name"]))
                seen[path] += node["calls"]  # 0: only forked processes have begun with it
            for child in node["children"]:
                walk(child, path)

        graph = self.spoor.graph()
        for node in graph if isinstance(graph, list) else [graph]:
            walk(node, ())
        show = lambda tree: sorted(" / ".join(f for _, f in path) + f": {n}" for path, n in tree.items() if n)
        check_same("graph", show(wanted), show(seen))

    def compare(self):
        if not self.spoor.is_whole():
            self.compare_some()
        elif self.expected.threads:
            self.compare_sequences()
            if self.inferred:
                print("graph is not compared: functions with inferred exits:", sorted(self.inferred))
            else:
                self.compare_graph()
        else:
            check_balanced(self.spoor.replay())
            self.spoor.view("graph", "--json", "trace")
        if self.spoor.is_whole():
            self.compare_report()


def parse(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("spoor")
    parser.add_argument("program", type=os.path.realpath)
    parser.add_argument("--may-refuse", type=lambda names: names.split(","), default=[])
    parser.add_argument("--may-miss", type=lambda names: names.split(","), default=[])
    parser.add_argument("--library", type=os.path.realpath, action="append", default=[])
    parser.add_argument("--load-by", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument("--named-only", action="store_true")
    parser.add_argument("--small-rings", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.load_by:
        arguments.load_by[1] = os.path.realpath(arguments.load_by[1])
    return arguments


WAYS = [], ["-M", "*"]
SMALL_RINGS = ["--buffer=4K", "--overflow=wait"]


def command_of(arguments):
    command = [arguments.program] + arguments.library
    return ["env", "=".join(arguments.load_by), *command] if arguments.load_by else command


def compare(arguments, spoor, alone, traced, options):
    """ALONE and TRACED (with OPTIONS) are Outcomes. The trace is in the current directory."""
    what = "spoor record " + " ".join(options)
    program = os.path.basename(arguments.program)
    expected = Expectation(alone.stdout.decode(), program)
    check_same_outcome(alone, traced, what)
    check_lossless(spoor.info())
    try:
        Comparison(arguments, expected, options, spoor).compare()
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from failure


def test(arguments):
    spoor = Spoor(arguments.spoor)
    command = command_of(arguments)
    alone = run(command)
    if alone.status == 77:
        print("the program cannot run on this machine")
        sys.exit(77)
    smaller = [[*way, *SMALL_RINGS] for way in WAYS if arguments.small_rings]
    for options in [*WAYS, *smaller]:
        compare(arguments, spoor, alone, spoor.record(options, command), options)


if __name__ == "__main__":
    sys.setrecursionlimit(20000)  # graphs are as deep as the program's calls
    given = parse()
    given.spoor = os.path.realpath(given.spoor)
    main(lambda: test(given))
