#!/usr/bin/env python3
"""Changes what is traced of a program at work, over and over: pause, resume, other functions. The program does not
notice. While paused, it has its own code. From each answer on only the chosen functions are recorded.

    filter_changes.py [--cycles=N] [--quiet=FUNCTION] [--choices=A,B] [--all] [--depth=N] [--snapshot]
        SPOOR PROGRAM [ARGUMENT...]

--quiet: a function that the program does not call.
--choices: two functions that it calls; the default is compute and mean.
--all: sometimes all modules are traced.
--depth: greatest depth of recorded calls, for programs where all modules make too many.
--snapshot: takes a snapshot, too.
"""
import collections
import hashlib
import json
import os
import subprocess
import sys
import time

from attach import TIMEOUT, Failure, Spoor, check, check_left, code_of, main, run, running, signs_of_spoor

THREADS = 12  # more than the program ever has at once


def text_of(pid):
    """{line of maps: its bytes} for the file-backed code of process PID."""
    digests = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and len(fields) > 5 and fields[5].startswith("/"):
                start, end = (int(word, 16) for word in fields[0].split("-"))
                try:
                    memory.seek(start)
                    digests[line] = hashlib.sha256(memory.read(end - start)).hexdigest()
                except OSError:
                    pass  # unloaded meanwhile
    return digests


def check_text(pid, before):
    now = text_of(pid)
    for line in before.keys() & now.keys():
        check(now[line] == before[line], f"paused, but the code is still patched: {line}")


class Control:
    """The control of a running recording."""

    def __init__(self, spoor, pid, options):
        self.spoor, self.pid, self.changes, self.done = spoor, str(pid), 0, []
        self.options, self.choices = options, options.get("--choices", "compute,mean*").split(",")

    def ask(self, *words):
        return run([self.spoor.path, "ctl", self.pid, *words])

    def request(self, *words):
        """Sends a request that must succeed; returns the answer."""
        done = self.ask(*words)
        check(done.status == 0, f"ctl {words}: status {done.status}: {done.stderr.decode()}")
        check(done.stdout.count(b"\n") == 1, f"ctl {words}: not one line: {done.stdout}")
        self.changes += words[0] != "status"
        self.done.append(words)
        return done.stdout.decode()

    def events(self):
        return self.request("status").split(" events")[0].split()[-1]

    def check_silent(self, why):
        """Waits until the count of events stays the same: earlier events may still be on their way."""
        until, last = time.monotonic() + TIMEOUT, None
        while last != (last := self.events()):
            check(time.monotonic() < until, f"{why}: events go on")
            time.sleep(0.05)

    def await_ready(self, recorder):
        while self.ask("status").status:
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
            time.sleep(0.01)


def refuse(control):
    done = control.ask("filter", "-F", "computin")
    check(done.status == 1 and b"did you mean computing" in done.stderr, f"not refused: {done}")
    done = control.ask("snapshot")
    check(done.status == 1 and b"snapshots need --overflow=overwrite" in done.stderr, f"not refused: {done}")
    check(control.ask("filter", "-F", "/(/").status == 2, "a bad pattern was not refused")


def change(control, before):
    for number in range(int(control.options.get("--cycles", 30))):
        for choice in control.choices:
            answer = control.request("filter", "-F", choice)
            check(answer.startswith("filter: 1 functions, "), answer)
        check(control.request("pause").startswith("paused: "), "not paused")
        check_text(control.pid, before)
        if number % 10 == 0:
            check(control.request("pause").startswith("paused: "), "not paused again")
            control.check_silent("paused")
            check_text(control.pid, before)
        if number % 10 == 1:
            check("still paused" in control.request("filter", "-F", control.choices[0]), "a filter ends the pause")
            check_text(control.pid, before)
        check(control.request("resume").startswith("recording: "), "not resumed")
        if number % 10 == 2:
            control.request("filter", "-F", control.options["--quiet"])
            control.check_silent("a function that is not called")
            refuse(control)
        if number % 3 == 0 and "--all" in control.options:
            control.request("filter", "-M", "*")
            control.request("filter")


def check_order(spoor, choices, most, threads):
    """Calls begin and end in order and not in a pause. A function has at most one run of calls between two
    changes. THREADS: the calls of each thread. (There are many, so messages are formatted only on failure.)"""
    stacks, runs, last, ends = collections.defaultdict(list), collections.Counter(), {}, {}
    for line in spoor.view("replay", "--json", *(f"--filter={c}" for c in choices), "trace").splitlines():
        event = json.loads(line)
        stack = stacks[event["tid"]]
        if event["kind"] == "paused":
            ends[event["tid"]] = event["t_ns"] + event["duration_ns"]
        elif event["kind"] in ("entry", "exit"):
            if event["t_ns"] < ends.get(threads[event["tid"]], 0):
                raise Failure(f"in a pause: {event}")
        if event["kind"] == "entry":
            if event["depth"] != len(stack):
                raise Failure(f"depth {event}, open: {stack}")
            stack.append(event["function"])
            runs[event["tid"]] += last.get(event["tid"]) != event["function"]
            last[event["tid"]] = event["function"]
        elif event["kind"] not in ("lost", "pause", "paused", "filter"):
            if not stack or stack.pop() != event["function"]:
                raise Failure(f"end without a beginning: {event}")
    check(last, "no event")
    check(max(runs.values()) <= most, f"{max(runs.values())} runs of functions, {most} changes")


def check_changes(control, info):
    """The trace has each pause and each filter."""
    pid, done, paused, pauses = int(control.pid), control.done, False, 0
    for words in done:
        pauses += words == ("pause",) and not paused
        paused = words == ("pause",) or (paused and words != ("resume",))
    found = [c for c in info["changes"] if c["kind"] == "paused" and c["pid"] == pid]
    check(len(found) == pauses and not any("open" in p for p in found), f"{pauses} pauses: {found}")
    recorded = [c["filter"] for c in info["changes"] if c["kind"] == "filter"]
    wanted = [" ".join(words[1:] or ("-F", control.choices[0])) for words in done if words[0] == "filter"]
    check(recorded == wanted, f"filters: {recorded}, not {wanted}")
    check(info["paused_ns"] >= sum(p["duration_ns"] for p in found) > 0, f"paused {info['paused_ns']} ns")


def check_recorded(control):
    spoor, changes = control.spoor, control.changes
    info = spoor.json("info", "--json", "trace")
    check(info["events"]["lost"] == 0, f"lost: {info['events']}")
    check_changes(control, info)
    for row in spoor.json("report", "--json", "trace"):
        check(row["unwound"] <= changes * THREADS, f"not balanced: {row}")
    check_order(spoor, control.choices, sys.maxsize if "--all" in control.options else changes,
                {t["tid"]: t["pid"] for t in info["thread_list"]})


def keep_snapshot(control, before):
    """Takes a snapshot of a paused program: the rings keep their events."""
    control.request("filter", "-F", control.choices[1])
    control.request("pause")
    check_text(control.pid, before)
    check(control.request("snapshot").startswith("snapshot: "), "no snapshot")
    until = time.monotonic() + TIMEOUT
    while not os.path.exists("trace.1"):
        check(time.monotonic() < until, "there is no snapshot")
        time.sleep(0.01)
    check(control.spoor.json("info", "--json", "trace.1")["snapshot"] == 1, "not a snapshot")
    control.request("resume")


def run_recording(spoor, pid, options, overflow="wait", what=change):
    control, before = Control(spoor, pid, options), text_of(pid)
    depth = ["--depth=" + options["--depth"]] if "--depth" in options else []
    command = [spoor.path, "attach", "-q", "-o", "trace", f"--overflow={overflow}", *depth, "-F",
               control.choices[0], str(pid)]
    with subprocess.Popen(command) as recorder:
        try:
            control.await_ready(recorder)
            what(control, before)
            control.request("stop")
        except BaseException:
            recorder.terminate()
            raise
        check(not signs_of_spoor(pid), f"left in the process: {signs_of_spoor(pid)}")
        check(control.ask("status").status == 1, "it still listens")
        check(recorder.wait(TIMEOUT) == 0, f"attach ended with {recorder.returncode}")
    return control


def record_process(spoor, options, command, *how):
    """Starts a process for one recording. The process ends before its trace is checked."""
    steady = "loads" not in command
    with running(command) as process:
        before = code_of(process.pid) if steady else None
        control = run_recording(spoor, process.pid, options, *how)
        if steady:
            check_left(process.pid, before)
    return control


def test(spoor, options, command):
    check_recorded(record_process(spoor, options, command))
    if "--snapshot" in options:
        record_process(spoor, options, command, "overwrite", keep_snapshot)


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    chosen = dict((w + "=").split("=")[:2] for w in sys.argv[1:] if w.startswith("--"))
    program = [os.path.realpath(words[1]), words[2], *map(os.path.realpath, words[3:])]
    subject = Spoor(words[0])
    main(lambda: test(subject, chosen, program))
