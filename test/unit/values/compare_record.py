#!/usr/bin/env python3
"""Compares what `spoor record -a` and `spoor replay --json` show with gdb's values at the same calls.

    compare_record.py [OPTION...] SPOOR PROGRAM [ARGUMENT...]
    compare_record.py [OPTION...] --build 'COMPILER OPTION...'... SPOOR SOURCE

      --build COMMAND  make the program from SOURCE with that; repeatable, one program after the other. With -O0 in it,
                       or without -O, gdb looks behind the prologue, as with --plain
      --input FILE     the program's standard input
      --module GLOB    as for spoor record, and repeatable; one must have main(). By default the program
      --most N         calls of each function
      --functions N    of as many functions; by default all that are called
      --plain          compiled without optimisation: gdb looks behind the prologue
      --no-results     gdb does not know where this language returns its results
      --at-most A,R    an error if more than A % of the arguments, or R % of the results, are unknown to spoor
      -v               show each value that only gdb knows

Both runs have the same addresses and the same environment; but libraries are lower under spoor by a fixed number
of pages, which the arguments tell. The calls from the beginning of main() on count,
those of the first thread. A value that differs is an error, unless two runs in gdb differ there, too: the second one
overwrites the free stack at each call, so it differs in what nobody has written.
"""
import argparse
import collections
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import compare_gdb

SKIPPED = 77


def debug_file(module):
    """The file with MODULE's symbols: its own, or that of its build-id."""
    notes = subprocess.run(["readelf", "-n", module], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: (..)(\w+)", notes)
    path = Path(f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug") if found else None
    return path if path and path.exists() else module


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

    def __init__(self, lines, most):
        self.most, self.calls = most, collections.defaultdict(list)
        self.open, self.thread, self.begun = [], None, False
        for line in lines:
            self.add(json.loads(line))

    def add(self, event):
        if event.get("kind") not in ("entry", "exit") or event["tid"] != (self.thread or event["tid"]):
            return
        key = event["module"], event["function"]
        if event["function"] == "main" and not self.begun:
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
            subprocess.run(["setarch", "-R", options.spoor, "record", "-q", "-a", "--strings=64", *module_option(options),
                            "-o", trace, *command], check=False, stdin=source, stdout=subprocess.DEVNULL, env=compare_gdb.ENVIRONMENT)
        with subprocess.Popen([options.spoor, "replay", "--json", trace], stdout=subprocess.PIPE) as replay:
            return Recording(replay.stdout, options.most).calls


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
    lines = [f"{options.most} {int(options.plain)} {at} {path}" for path, at in places.values()]
    return compare_gdb.run_gdb(lines, f"run {arguments} <{options.input} >/dev/null 2>&1", command[0], 1500, spoil)


def is_steady(shown, again, key, name):
    """Two runs in gdb show the same."""
    if name is None:
        return shown[key].get("ret") == again.get(key, {}).get("ret")
    return dict(shown[key].get("args", ())).get(name) == dict(again.get(key, {}).get("args", ())).get(name)


def compare(options, calls, places, shown, again, comparison):
    for function, place in places.items():
        for number, call in enumerate(calls[function][:options.most]):
            key = (*place, number)
            if key not in shown:
                continue
            what, theirs = f"{function[1]}#{number}", dict(shown[key].get("args", ()))
            for argument in call.get("args", ()):
                if argument["name"] in theirs and is_steady(shown, again, key, argument["name"]):
                    comparison.add("arguments", f"{what} {argument['name']}", argument, theirs[argument["name"]])
            if call.get("ret") and not options.no_results and "ret" in shown[key] and is_steady(shown, again, key, None):
                comparison.add("results", f"{what} result", call["ret"], shown[key]["ret"])


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
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--functions", type=int, default=100000)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--no-results", action="store_true")
    parser.add_argument("--at-most", default="100,100")
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("spoor")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def report(options, comparison, functions):
    failed = bool(comparison.wrong)
    print(f"{functions} functions")
    for (kind, counts), most in zip(comparison.counts.items(), options.at_most.split(",")):
        if not counts["all"]:
            continue
        unknown = 100 * sum(counts[reason] for reason in ("optimized-out", "unreadable", "untyped")) / counts["all"]
        print(f"{kind}: {unknown:.2f} % unknown: " + ", ".join(f"{v} {k}" for k, v in counts.items() if v))
        failed = failed or unknown > float(most)
    for line in comparison.wrong[:40]:
        print("wrong:", line)
    for line in comparison.less if options.verbose else []:
        print("unknown:", line)
    return failed or not comparison.counts["arguments"]["all"]


def compare_one(options, command):
    libraries = [path for name, path in files_of(command).items()
                 if path != str(command[0]) and any(fnmatch.fnmatch(name, glob) for glob in options.module)]
    if missing := [path for path in libraries if debug_file(path) == path]:
        print(f"{', '.join(missing)}: no debugging information (libc6-dbg)")
        return SKIPPED
    calls = record(options, command)
    places = dict(list(places_of(calls, files_of(command)).items())[:options.functions])
    shown, again = (show_in_gdb(options, command, places, spoil) for spoil in (0, 1))
    shifts = collections.Counter(b - a for a, b in pointers(options, calls, places, shown) if (b - a) % 4096 == 0)
    compare_gdb.SHIFT["pages"] = shifts.most_common(1)[0][0] if shifts else 0
    comparison = compare_gdb.Comparison()
    compare(options, calls, places, shown, again, comparison)
    return report(options, comparison, len(places))


def compare_built(options, build):
    source, words = options.command[0], build.split()
    options.plain = not re.search(r"-O[1-9s]?( |$)", build)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        warnings = ["-w", "-lm"] if "rustc" not in build else []
        subprocess.run([*words, "-g", "-o", program, source, *warnings], check=True)
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
