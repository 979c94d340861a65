#!/usr/bin/env python3
"""A process that is not dumpable is traced and stays not dumpable.

    not_dumpable.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/not_dumpable.c. Root may trace it anyway, so this test runs spoor as the user nobody.
"""
import os
import shutil
import sys

from fault import WAYS, Spoor, check, check_right, main, run, stderr_of
from rights import NOBODY, become_nobody

THREADS = 100 + 6  # worker threads and the processes' main threads; one process execs


def test(spoor, program, library):
    os.chmod(".", 0o755)
    os.mkdir("work")
    for name in program, library, spoor.path:
        shutil.copy(name, ".")
    how = {}
    if os.getuid() == 0:
        os.chown("work", NOBODY, NOBODY)
        how["preexec_fn"] = become_nobody
    command = [os.path.realpath(os.path.basename(name)) for name in (program, library)]
    check_right(run(command, **how), "alone")
    for way in WAYS:
        record = [os.path.realpath("spoor"), "record", *way, "-o", "work/trace", "--", *command]
        what = f"record {' '.join(way)}"
        done = run(record, **how)
        check_right(done, what)
        check(len(stderr_of(done).splitlines()) == 1, f"{what}: messages besides the summary: {stderr_of(done)}")
        if "--no-follow" in way:
            continue
        info = spoor.info("work/trace")
        check(info["threads"] >= THREADS and info["processes"] >= 5,
              f"{what}: {info['threads']} threads, {info['processes']} processes")
        check(info["events"]["lost"] == 0 or "--overflow=drop" in way, f"{what}: {info['events']}")
        modules = {row["module"] for row in spoor.report("work/trace")}
        check("*" not in way or os.path.basename(library) in modules, f"{what}: modules {modules}")


if __name__ == "__main__":
    tracer, given = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(tracer, *given))
