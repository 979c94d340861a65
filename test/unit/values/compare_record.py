#!/usr/bin/env python3
"""Compares what `spoor record -a` and `spoor replay --json` show with gdb's values at the same calls.

    compare_record.py [OPTION...] SPOOR PROGRAM [ARGUMENT...]
    compare_record.py [OPTION...] --build 'COMPILER OPTION...'... SPOOR SOURCE

      --build COMMAND  make the program from SOURCE with that; repeatable, one program after the other. With -O0 in it,
                       or without -O, gdb looks behind the prologue, as with --plain. "go build": its results are
                       compared where they are in variables, so with -gcflags=-N
      --input FILE     the program's standard input
      --module GLOB    as for spoor record, and repeatable; one must have main(). By default the program
      --only GLOB      functions with such names
      --most N         calls of each function
      --functions N    of as many functions; by default all that are called
      --plain          compiled without optimisation: gdb looks behind the prologue
      --heap-moves     what is on the heap has other addresses in each run: they are compared roughly
      --no-results     gdb does not know where this language returns its results
      --at-most A,R    an error if more than A % of the arguments, or R % of the results, are unknown to spoor
      --rows           also print the rows of the tables in doc/COVERAGE.md
      -v               show each value that only one of both knows, and the unsteady ones

Both runs have the same addresses and the same environment; but libraries are lower under spoor by a fixed number
of pages, which the arguments tell. The calls from the beginning of main() on count,
those of the first thread. A value that differs is an error, unless two runs in gdb differ there, too: the second one
overwrites the free stack at each call, so it differs in what nobody has written. Such values are counted as unsteady.
Optimised programs that are built here: the compiler itself says which functions return nothing any more
(compiler_word.py). Showing such a result is an error; so is "gone" for another one.
In the end values change places: each that was right must be found wrong then (mutations.py).
"""
import argparse
import collections
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import compare_gdb
import compiler_word
import mutations

SKIPPED = 77


def debug_file(module):
    """The file with MODULE's symbols: its own, or that of its build-id."""
    notes = subprocess.run(["readelf", "-n", module], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: (..)(\w+)", notes)
    path = Path(f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug") if found else None
    return path if path and path.exists() else module


def has_debug_info(path):
    return ".debug_info" in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=False).stdout


def addresses_of(module):
    """The address of each name that has only one."""
    found = collections.defaultdict(set)
    for path in {module, str(debug_file(module))}:
        listed = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=False, errors="replace").stdout
        for line in listed.splitlines():
            words = line.split(" ", 2)
            if len(words) == 3 and words[1] in "tTwWiu":
                found[words[2]].add(int(words[0], 16))
    return {name: min(at) for name, at in found.items() if len(at) == 1}


def load_bias(module):
    """What a file's addresses begin with: a program at a fixed address has its own there."""
    listed = subprocess.run(["readelf", "-lW", module], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"LOAD\s+0x0+ (0x\w+)", listed)[1], 16)


class Recording:
    """The calls of each function, from main() on, in the first thread."""

    def __init__(self, lines, most, begin):
        self.most, self.begin, self.calls = most, begin, collections.defaultdict(list)
        self.open, self.thread, self.begun = [], None, False
        for line in lines:
            self.add(json.loads(line))

    def add(self, event):
        if event.get("kind") not in ("entry", "exit") or event["tid"] != (self.thread or event["tid"]):
            return
        key = event["module"], event["function"]
        if event["function"] == self.begin and not self.begun:
            self.begun, self.thread = True, event["tid"]
        elif self.begun and event["kind"] == "entry":
            self.enter(key, event)
        elif self.begun:
            self.leave(key, event)

    def enter(self, key, event):
        self.open.append((key, event))
        if len(self.calls[key]) <= self.most:
            self.calls[key].append(event)

    def leave(self, key, event):
        while self.open:
            opened, entry = self.open.pop()
            if opened == key and entry["depth"] == event["depth"]:
                entry["ret"] = event.get("ret")
                return


def record(options, command):
    with tempfile.TemporaryDirectory() as folder:
        trace, source = Path(folder) / "trace", open(options.input, "rb")
        with source:
            subprocess.run(["setarch", "-R", options.spoor, "record", "-q", "-a", "--formats=none", "--strings=64",
                            *module_option(options), "-o", trace, *command], check=False, stdin=source, stdout=subprocess.DEVNULL, env=compare_gdb.ENVIRONMENT)
        with subprocess.Popen([options.spoor, "replay", "--json", trace], stdout=subprocess.PIPE) as replay:
            return Recording(replay.stdout, options.most, options.begin).calls


def module_option(options):
    return [word for module in options.module for word in ("-M", module)]


def files_of(command):
    """The path of each file that COMMAND loads, by its name."""
    listed = subprocess.run(["ldd", command[0]], capture_output=True, text=True, check=False).stdout
    paths = [str(command[0]), *re.findall(r"=> (\S+)", listed), *re.findall(r"^\s*(/\S+)", listed, re.M)]
    return {Path(path).name: os.path.realpath(path) for path in paths}


def places_of(calls, files):
    """(module's path, address) of the functions whose name tells their address."""
    addresses, found = {}, {}
    for name in {module for module, _ in calls} & set(files):
        addresses[name] = addresses_of(files[name]), load_bias(files[name])
    for key in calls:
        known, bias = addresses.get(key[0], ({}, 0))
        if key[1] in known:
            found[key] = files[key[0]], known[key[1]] - bias
    return found


def show_in_gdb(options, command, places, spoil):
    arguments = " ".join(f"'{word}'" for word in command[1:])
    plain = 2 if options.go else int(options.plain)
    lines = [f"{options.most} {plain} {at} {path}" for path, at in places.values()]
    return compare_gdb.run_gdb(lines, f"run {arguments} <{options.input} >/dev/null 2>&1", command[0], 1500, spoil, options.begin)


def compare_named(kind, what, ours, shown, again, comparison):
    theirs, second = dict(shown.get("args", ())), dict(again.get("args", ()))
    for value in ours:
        name = value["name"]
        if name in theirs:
            comparison.add(kind, f"{what} {name}", value, compare_gdb.steady(theirs[name], second.get(name)))
        else:
            comparison.skip(kind, "not in gdb")


def compare_result(what, call, shown, again, comparison, exists):
    if not call.get("ret"):
        return
    if isinstance(call["ret"], list):  # Go's have names
        results = {key: {"args": values["ret"]} if "ret" in values else {} for key, values in (("shown", shown), ("again", again))}
        compare_named("results", what, call["ret"], results["shown"], results["again"], comparison)
    elif "ret" not in shown:
        comparison.skip("results", "not in gdb")
    elif shown["ret"] is None:
        comparison.add("results", f"{what} result", call["ret"], None, exists)
    else:
        comparison.add("results", f"{what} result", call["ret"], compare_gdb.steady(shown["ret"], again.get("ret")), exists)


def compare(options, calls, places, shown, again, comparison):
    for function, place in places.items():
        for number, call in enumerate(calls[function][:options.most]):
            key = (*place, number)
            if key not in shown:
                comparison.skip("arguments", "calls not in gdb")
                continue
            what = f"{function[1]}#{number}"
            compare_named("arguments", what, call.get("args", ()), shown[key], again.get(key, {}), comparison)
            if not options.no_results:
                void = options.void.get(function[1])
                compare_result(what, call, shown[key], again.get(key, {}), comparison, None if void is None else not void)


def pointers(options, calls, places, shown):
    """(spoor's, gdb's) for each argument that is an address in mapped memory."""
    for function, place in places.items():
        for number, call in enumerate(calls[function][:options.most]):
            theirs = dict(shown.get((*place, number), {}).get("args", ()))
            for argument in call.get("args", ()):
                address = (theirs.get(argument["name"]) or {}).get("pointer", 0)
                if str(argument["value"]).startswith("0x") and compare_gdb.is_mapped(address):
                    yield int(argument["value"], 16), address


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", action="append", default=[])
    parser.add_argument("--input", default="/dev/null")
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("--only", default="*")
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--functions", type=int, default=100000)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--no-results", action="store_true")
    parser.add_argument("--at-most", default="100,100")
    parser.add_argument("--rows", action="store_true")
    parser.set_defaults(go=False, before=None, begin="main", void={}, name="")
    parser.add_argument("--heap-moves", action="store_true")
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("spoor")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def report(options, comparison, functions):
    failed = bool(comparison.wrong)
    print(f"{functions} functions")
    for (kind, counts), most in zip(comparison.counts.items(), options.at_most.split(",")):
        if counts["all"]:
            print(comparison.summary(kind))
        failed = failed or comparison.percent_unknown(kind) > float(most)
    for kind in comparison.counts if options.rows else ():
        print(comparison.row(kind, options.name, functions))
    for line in comparison.wrong[:40]:
        print("wrong:", line)
    for what, lines in (("unknown", comparison.less), ("only spoor", comparison.more), ("unsteady", comparison.unsteady)) if options.verbose else ():
        for line in lines:
            print(f"{what}: {line}")
    return failed or not comparison.counts["arguments"]["all"]


def compare_one(options, command):
    libraries = [path for name, path in files_of(command).items()
                 if path != str(command[0]) and any(fnmatch.fnmatch(name, glob) for glob in options.module)]
    if missing := [path for path in libraries if debug_file(path) == path and not has_debug_info(path)]:
        print(f"{', '.join(missing)}: no debugging information (libc6-dbg)")
        return SKIPPED
    calls = {key: list_ for key, list_ in record(options, command).items() if fnmatch.fnmatchcase(key[1], options.only)}
    places = dict(list(places_of(calls, files_of(command)).items())[:options.functions])
    shown, again = (show_in_gdb(options, command, places, spoil) for spoil in (0, 1))
    shifts = collections.Counter(b - a for a, b in pointers(options, calls, places, shown) if (b - a) % 4096 == 0)
    compare_gdb.SHIFT["pages"] = shifts.most_common(1)[0][0] if shifts else 0
    compare_gdb.SHIFT["heap"] = options.heap_moves
    def compared(recorded):
        comparison = compare_gdb.Comparison()
        compare(options, recorded, places, shown, again, comparison)
        return comparison
    comparison = compared(calls)
    failed = report(options, comparison, len(places))
    failed = mutations.check(calls, options.most, lambda mutated: compared(mutated).wrong, comparison.right) or failed
    if options.go and options.before:
        failed = compare_results(calls, options.before) or failed
    options.before = calls
    return failed


def without_addresses(value):
    return re.sub(r"0x\w+", "", json.dumps(value))


def compare_results(calls, before):
    """Go's ABI does not depend on optimisation, and gdb knows results only without."""
    both = [(name, a["ret"], b["ret"]) for name in before for a, b in zip(before[name], calls.get(name, ()))
            if a.get("ret") and b.get("ret") and "missing" not in json.dumps([a["ret"], b["ret"]])]
    differ = [line for line in both if without_addresses(line[1]) != without_addresses(line[2])]
    print(f"results of {len(both)} calls as without optimisation, {len(differ)} differ")
    for line in differ:
        print("differs:", *line)
    return bool(differ) or not both


def compare_built(options, build):
    source, words = options.command[0], shlex.split(build)
    options.go = words[0] == "go"
    options.begin = "main.main" if options.go else "main"
    options.plain = not re.search(r"-O[1-9s]?( |$)", build)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        warnings = ["-w", "-lm"] if words[0] not in ("rustc", "go") else []
        debug = [] if options.go else ["-g", *compiler_word.options(words, folder)]
        environment = {**os.environ, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": "0"}
        subprocess.run([*words, *debug, "-o", program, source, *warnings], check=True, env=environment)
        if not options.plain and compiler_word.is_known(words):
            options.void = compiler_word.demangled(compiler_word.read(words, source, folder))
        options.name = re.sub(r" .*/\S*", "", build)
        print(f"{build}: ", end="", flush=True)
        return compare_one(options, [program])


def main():
    options = parse()
    tools = ["gdb", *(build.split()[0] for build in options.build), *([] if options.build else options.command[:1])]
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        print(f"{', '.join(missing)} is missing")
        return SKIPPED
    if options.build:
        return int(max([compare_built(options, build) for build in options.build]))
    return int(compare_one(options, [os.path.realpath(shutil.which(options.command[0])), *options.command[1:]]))


if __name__ == "__main__":
    sys.exit(main())
