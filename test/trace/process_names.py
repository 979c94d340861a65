#!/usr/bin/env python3
"""A process has the name by which its program was started, also if that is a link.

    process_names.py SPOOR FORKER

FORKER is programs/fork.c. Names that tell nothing of the program are not taken: a script's, which is the name of
another file, and the kernel's links to open files.
"""
import os
import sys
import tempfile

from harness import Spoor, check, main


def names(spoor, command):
    spoor.record([], command)
    return {row["process"] for row in spoor.json("report", "--by-process", "--json", "trace")}


def test(spoor, forker):
    folder = tempfile.mkdtemp(dir=os.getcwd())
    name = os.path.basename(forker)
    link, script = (os.path.join(folder, part) for part in ("by_link", "by_script"))
    os.symlink(os.path.relpath(forker, folder), link)
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!{link}\n")
    os.chmod(script, 0o755)
    by_file = f"exec /proc/self/fd/3 3<'{forker}'"
    for command, wanted in (
            ([forker], {name}), ([link], {"by_link"}), ([os.path.relpath(link)], {"by_link"}),
            (["sh", "-c", f"exec '{link}'"], {"by_link"}), ([script], {name}), (["sh", "-c", by_file], {name})):
        found = names(spoor, command) - {"sh", "dash"}  # those of the shell itself
        check(found == wanted, f"{command}: {found}")


if __name__ == "__main__":
    tracer = Spoor(sys.argv[1])
    program = os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, program))
