#!/usr/bin/env python3
"""scripts.py CACHE [--machine=NAME] [--package=NAME]... [--every-instruction | --by-turns | --one-processor]
           INSIDE [--next SCRIPT WORD...]...

Runs scripts of other tests in an emulated machine (machine.py). Each SCRIPT gets its WORDs. The word "SPOOR"
stands for INSIDE, the spoor for that machine. Files that are named are copied into the guest.
A script must exit with 0, or with 77 if it cannot run in the guest. If no script fails but one exits with
77, this test exits with 77, too, and prints the reason last.
--every-instruction: signals and stops come between any two instructions (machine.py).
--by-turns: of the two processors, one runs at a time. --one-processor: there is no second one.

SPOOR_TEST_SEED (harness.py) is passed on into the guest."""
import argparse
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

import machine  # noqa: E402
from harness import SEED, SKIP, check, main  # noqa: E402

PYTHON = "/usr/bin/python3"
PACKAGES = ["python3", "util-linux", "libdw1", "libzydis4.0", "libzstd1", "libbpf1"]
# Time limits of a script and of a program that it runs: emulated machines are ten times slower.
SECONDS, TIMEOUT = 2400, 1200
HERE = os.path.dirname(os.path.realpath(__file__))
SHARED = os.path.join(HERE, "..", "trace", "harness.py")


def libraries_beside(path):
    """Libraries that the program at PATH is linked with and that are in the same folder."""
    done = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout.decode()):
        library = os.path.join(os.path.dirname(path), name)
        if os.path.isfile(library):
            yield library


class Script:
    def __init__(self, inside, words):
        self.words = [inside if word == "SPOOR" else word for word in words]
        self.words = [os.path.realpath(word) if os.path.isfile(word) else word for word in self.words]
        self.path = self.words[0]
        self.name = " ".join(map(os.path.basename, self.words))

    def files(self):
        for word in filter(os.path.isfile, self.words):
            yield word
            yield from libraries_beside(word)
        yield from glob.glob(os.path.join(os.path.dirname(self.path), "*.py"))

    def command(self):
        environment = [f"SPOOR_TEST_TIMEOUT={TIMEOUT}", "SPOOR_TEST_FEW_ROUNDS=1", *([f"SPOOR_TEST_SEED={SEED}"] if SEED else [])]
        return ["/busybox/env", *environment, PYTHON, *self.words]

    def status(self, folder):
        """The script's exit status, and the last line that it has printed."""
        def read(what):
            with open(os.path.join(folder, f"step.{what}"), encoding="utf-8", errors="replace") as file:
                return file.read()
        status = int(read("status"))
        begin, end = map(float, read("time").split())
        out = read("out")
        print(f"{self.name}: {status} after {end - begin:.0f} s\n{out}{read('err')}", flush=True)
        return status, out.rstrip().rpartition("\n")[2]


def parse(words):
    first = words.index("--next") if "--next" in words else len(words)
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=os.path.realpath)
    parser.add_argument("--machine", choices=machine.MACHINES, default="arm64")
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--every-instruction", action="store_true")
    parser.add_argument("--by-turns", action="store_true")
    parser.add_argument("--one-processor", action="store_true")
    parser.add_argument("inside", type=os.path.realpath)
    arguments = parser.parse_args(words[:first])
    scripts = []
    for word in words[first:]:
        if word == "--next":
            scripts.append([])
        else:
            scripts[-1].append(word)
    arguments.scripts = [Script(arguments.inside, script) for script in scripts]
    return arguments


def prepare(arguments):
    guest = machine.Guest(arguments.machine, arguments.cache, PACKAGES + arguments.package, SECONDS)
    if arguments.every_instruction:
        guest.interrupt_at_every_instruction()
    if arguments.by_turns:
        guest.run_processors_by_turns()
    if arguments.one_processor:
        guest.has_one_processor()
    for path in {arguments.inside, os.path.realpath(SHARED)}.union(*(s.files() for s in arguments.scripts)):
        guest.add(path)
    for number, script in enumerate(arguments.scripts):
        guest.job(f"{number:03}", [("step", script.command())])
    return guest


def test(arguments, guest):
    wrong = guest.boot()
    check(not wrong, wrong)
    failed, skipped = [], []
    for number, script in enumerate(arguments.scripts):
        status, last_line = script.status(f"results/{number:03}")
        if status == SKIP:
            skipped.append(f"{script.name}: {last_line}")
        elif status:
            failed.append(script.name)
    check(not failed, "failed: " + ", ".join(failed))
    if skipped:
        print(f"{len(skipped)} of {len(arguments.scripts)} cannot run in the guest:", "; ".join(skipped))
        sys.exit(SKIP)


def main_of(arguments):
    if not os.path.exists(arguments.inside):
        print(f"{arguments.inside} is not built (make ARCH=…)")
        sys.exit(SKIP)
    try:
        guest = prepare(arguments)
    except machine.Unavailable as why:
        print(why)
        sys.exit(SKIP)
    main(lambda: test(arguments, guest))


if __name__ == "__main__":
    main_of(parse(sys.argv[1:]))
