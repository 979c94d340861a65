#!/usr/bin/env python3
"""spoor is killed. Threads and children that the program creates afterwards run correctly.

    children_after_kill.py SPOOR PROGRAM [ARGUMENT...]
"""
import os
import signal
import sys

from fault import RIGHT, WAYS, Spoor, adopt_orphans, await_orphans, check, communicate, kill_children, main, started


def test_way(spoor, way, program):
    what = f"record {' '.join(way)}"
    with started(spoor.command(way, program)) as tracer:
        check(tracer.stdout.readline() == b"ready\n", f"{what}: the program does not begin")
        tracer.kill()
        out, err = communicate(tracer, what)
    check(tracer.returncode == -signal.SIGKILL, f"{what}: spoor was not killed in time")
    ends = await_orphans(what)
    check(out == b"right\n" and ends == [RIGHT], f"{what}: the program ended with {ends}, {out} {err}")


def test(spoor, program):
    adopt_orphans()
    for way in (*WAYS, ["--buffer=4K"], ["-M", "*", "--overflow=overwrite"]):
        test_way(spoor, way, program)


if __name__ == "__main__":
    tracer_under_test = Spoor(sys.argv[1])
    words = [os.path.realpath(word) for word in sys.argv[2:]]
    try:
        main(lambda: test(tracer_under_test, words))
    finally:
        kill_children()
