#!/usr/bin/env python3
"""Names of traces, several recorders in one folder, and parts of a run: an old trace is kept, a second recorder takes
another name, a recording ends or begins later than the program, several processes and trees are attached to.

    ways_of_recording.py SPOOR PROGRAM

PROGRAM is programs/steps.c.
"""
import json
import os
import re
import sys

from fault import Spoor, check, main, run, started, stderr_of

STATUS = 7


def record(spoor, *words):
    return run([spoor.path, "record", *words])


def calls_of(spoor, trace, function="step"):
    rows = json.loads(run([spoor.path, "report", "--json", trace]).stdout)
    return sum(row["calls"] for row in rows if row["function"] == function)


def test_old_trace(spoor, program):
    with open("spoor.trace", "wb"):
        pass
    for count in 3, 4, 5:
        check(record(spoor, program, str(count)).status == STATUS, "status")
        check(os.path.exists("spoor.trace.old") == (count > 3), f"{count}: an empty file is no trace to keep")
    check(calls_of(spoor, "spoor.trace") == 5 and calls_of(spoor, "spoor.trace.old") == 4, "the old trace")
    done = record(spoor, program, "-o")  # of the program: nothing of the old trace is lost by a failure
    check(done.status == STATUS, stderr_of(done))
    before = os.stat("spoor.trace").st_ino
    check(record(spoor, "--no-follow", "-F", "nothing_like_it", program).status == 125, "no match")
    check(os.stat("spoor.trace").st_ino == before, "a failed recording has touched the trace before")


def test_second_recorder(spoor, program):
    with started([spoor.path, "record", program, "1000"]) as first:
        first.stdout.readline()
        for name in "spoor-2.trace", "spoor-2.trace":
            done = record(spoor, program, "3")
            check(done.status == STATUS, f"status {done.status}: {stderr_of(done)}")
            check(f"this trace is {name}\n" in stderr_of(done) and calls_of(spoor, name) == 3, stderr_of(done))
        done = record(spoor, "-o", "spoor.trace", program, "3")
        check(done.status == 125 and not done.stdout, f"a given name: {done.status}")
        first.communicate()
    check(calls_of(spoor, "spoor.trace") == 1000, "the first recorder")


def test_names(spoor, program):
    done = record(spoor, "-o", "%%x%z %c %p %t", program, "3")
    check(done.status == STATUS, stderr_of(done))
    name, = (file for file in os.listdir(".") if file.startswith("%x"))
    pid = spoor.json("info", "--json", name)["process_list"][0]["pid"]
    check(re.fullmatch(rf"%x%z {os.path.basename(program)} {pid} \d{{8}}-\d{{6}}", name), name)


def test_duration(spoor, program):
    done = record(spoor, "--duration=300ms", "-o", "part", program, "500")
    check(done.status == STATUS, f"status {done.status}")
    calls = calls_of(spoor, "part")
    check(0 < calls < 500, f"{calls} calls")
    check("runs on" in stderr_of(done), stderr_of(done))


def test_start_paused(spoor, program):
    done = record(spoor, "--start-paused", "-o", "none", program, "3")
    check(done.status == STATUS and calls_of(spoor, "none") == 0, "recorded in spite of --start-paused")
    words = [spoor.path, "record", "--start-paused", "-F", "step", "-o", "late", program, "1000"]
    with started(words) as tracer:
        tracer.stdout.readline()
        told = tracer.stderr.readline().decode()
        found = re.search(r"process (\d+): nothing is recorded before 'spoor (ctl \1 resume)'", told)
        check(found, told)
        done = run([spoor.path, "ctl", str(tracer.pid), "resume"])
        check(done.status == 1 and stderr_of(done) == f"spoor: process {tracer.pid}: is the spoor that records "
              f"process {found[1]}: give {found[1]}\n", stderr_of(done))
        check(run([spoor.path, *found[2].split()]).status == 0, "resume")
        tracer.communicate()
    calls = calls_of(spoor, "late")
    check(0 < calls < 1000, f"{calls} calls after resume")


def test_several(spoor, program):
    with started([program, "2000"]) as one, started([program, "2000"]) as two:
        pids = [str(process.pid) for process in (one, two)]
        for process in one, two:
            process.stdout.readline()
        for words in pids, ["-p", ",".join(pids)], ["-p", pids[0], pids[1]]:
            done = run([spoor.path, "attach", "--duration=200ms", "-o", "two", *words])
            check(done.status == 0, stderr_of(done))
            info = spoor.json("info", "--json", "two")
            check({str(p["pid"]) for p in info["process_list"]} == set(pids), f"{info['process_list']}")
            threads = {line["tid"] for line in map(json.loads, spoor.view("replay", "--json", "two").splitlines())
                       if line.get("function") == "step"}
            check(len(threads) == 2, f"calls of {threads}")
        done = run([spoor.path, "attach", "--duration=1s", "-o", "none.of", pids[0], "999999999"])
        check(done.status == 1 and not os.path.exists("none.of"), f"a process that is not there: {done.status}")
        for process in one, two:
            check(process.wait() == STATUS, "a process has not ended right")


def test_tree(spoor, program):
    with started([program, "1500", "3"]) as top:
        for _ in range(4):
            top.stdout.readline()
        done = run([spoor.path, "attach", "--tree", "--duration=300ms", "-o", "tree", str(top.pid)])
        check(done.status == 0, stderr_of(done))
        info = spoor.json("info", "--json", "tree")
        check(len({p["pid"] for p in info["process_list"]}) == 4, f"{info['process_list']}")
        check(top.wait() == STATUS, "the tree has not ended right")


def test(spoor, program):
    test_old_trace(spoor, program)
    test_second_recorder(spoor, program)
    test_names(spoor, program)
    test_duration(spoor, program)
    test_start_paused(spoor, program)
    test_several(spoor, program)
    test_tree(spoor, program)


if __name__ == "__main__":
    tracer_under_test, path = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer_under_test, path))
