#!/usr/bin/env python3
"""--no-follow does not trace children: the trace has none of their events, and spoor leaves nothing in them.

    follow.py SPOOR SPAWNER FORKER

SPAWNER is programs/spawn.c, FORKER programs/fork.c.
"""
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run


def processes(spoor, options, command):
    what = f"spoor record {' '.join(options)}"
    check_same_outcome(run(command), spoor.record(options, command), what)
    info = spoor.info()
    check_lossless(info)
    return info["processes"], {item["tid"] for item in spoor.replay()}


def test(spoor, spawner, forker):
    for modules in [], ["-M", "*"]:
        count, tids = processes(spoor, ["--no-follow", *modules], [forker])
        check(count == 1 and len(tids) == 1, f"{count} processes, threads {tids}")
        count, tids = processes(spoor, modules, [forker])
        check(count == 5 and len(tids) == 5, f"forks: {count} processes, threads {tids}")
        count, tids = processes(spoor, ["--no-follow", *modules], [spawner])
        check(count == 1 and len(tids) == 1, f"{count} processes, threads {tids}")
        # Four children that exec, one whose exec fails, and the first process.
        count, _ = processes(spoor, modules, [spawner])
        check(count >= 6, f"spawned: {count} processes")


if __name__ == "__main__":
    tracer = Spoor(sys.argv[1])
    programs = [os.path.realpath(path) for path in sys.argv[2:4]]
    main(lambda: test(tracer, *programs))
