#!/usr/bin/env python3
"""in_guest.py [--machine=NAME] [--package=NAME]... [--file=PATH[:PATH]]... [--cache=DIR] [--keep=DIR] -- COMMAND...

Runs a command in an emulated machine (machine.py) and exits with its status. For experiments by hand.
--package: a package of Debian, with all packages that it depends on. --file: a file of the host, under
the same path or the second one. --keep: a directory for the files that the command leaves.

    in_guest.py --file=build-aarch64/spoor:/bin/spoor --package=libdw1 --package=libzydis4.0 --package=libzstd1 \\
        --package=libc6 -- sh -c 'spoor record ls; spoor report'
"""
import argparse
import os
import shutil
import sys
import tempfile

import machine


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machine", choices=machine.MACHINES, default="arm64")
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--cache", type=os.path.abspath, default=os.path.abspath("build/test/guest/debian"))
    parser.add_argument("--keep", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=machine.SECONDS)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def show(name, out):
    with open(os.path.join("results/command", name), "rb") as file:
        out.buffer.write(file.read())
    out.flush()


def run(arguments):
    """Boots the guest in the current directory; returns the command's status."""
    guest = machine.Guest(arguments.machine, arguments.cache, arguments.package)
    for source, to in arguments.file:
        guest.add(source, to)
    guest.job("command", [("step", arguments.command)])
    wrong = guest.boot(arguments.seconds)
    if wrong:
        print(wrong, file=sys.stderr)
        return 125
    show("step.out", sys.stdout)
    show("step.err", sys.stderr)
    if arguments.keep:
        shutil.copytree("results/command", arguments.keep, dirs_exist_ok=True)
    with open("results/command/step.status", encoding="utf-8") as status:
        return int(status.read())


def main():
    arguments = parse()
    pairs = [word.partition(":") for word in arguments.file]
    arguments.file = [(os.path.realpath(path), to or os.path.abspath(path)) for path, _, to in pairs]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return run(arguments)
        except machine.Unavailable as why:
            print(why, file=sys.stderr)
            return 125
        finally:
            os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
