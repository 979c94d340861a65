#!/usr/bin/env python3
"""chrome_order.py SPOOR PROGRAM: all calls that are open at attach begin at the same time. In Chrome's format callers
precede callees, so that viewers nest them; processes and threads have names, one each."""
import collections
import json
import os
import subprocess
import sys

from attach import TIMEOUT, Spoor, check, main, run


def attach(spoor, program):
    """Attaches while the calls are open, and lets them end. Returns the process id."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        check(process.stdout.readline() == b"nested\n", "the program has not begun")
        command = [spoor.path, "attach", "-q", "-o", "trace", str(process.pid)]
        with subprocess.Popen(command) as recorder:
            while run([spoor.path, "ctl", str(process.pid), "status"]).status:
                check(recorder.poll() is None, "spoor attach has ended")
            process.stdin.close()
            check(recorder.wait(TIMEOUT) == 0 and process.wait(TIMEOUT) == 0, "statuses")
        return process.pid


def test(spoor, program):
    pid = attach(spoor, program)
    events = json.loads(spoor.view("export", "--format=chrome", "trace"))["traceEvents"]
    opened = [e for e in events if e["ph"] == "X" and e.get("args", {}).get("before")]
    check(len({e["ts"] for e in opened}) == 1, f"different begins: {opened}")
    check([e["name"] for e in opened] == ["main", "a", "b", "c"], f"order: {opened}")
    durations = [e["dur"] for e in opened]
    check(durations == sorted(durations, reverse=True), f"durations: {durations}")
    names = [(e["name"], e["pid"], e.get("tid"), e["args"]["name"]) for e in events if e["ph"] == "M"]
    check(names == [("process_name", pid, None, "nest"), ("thread_name", pid, pid, "nest")], f"names: {names}")


def test_names(spoor):
    """Each process and thread has one name although it has executed several programs."""
    subprocess.run([spoor.path, "record", "-q", "-o", "execs", "sh", "-c", "(exec true); exec true"], check=True)
    events = json.loads(spoor.view("export", "--format=chrome", "execs"))["traceEvents"]
    names = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "M":
            names[event["name"], event["pid"], event.get("tid")].append(event["args"]["name"])
    check(len(names) == 4 and all(name == ["true"] for name in names.values()), f"names: {dict(names)}")


if __name__ == "__main__":
    tracer, nested = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: (test(tracer, nested), test_names(tracer)))
