#!/usr/bin/env python3
"""Pauses in the trace: for each time that spoor has kept a thread waiting there is one, at its place.

    pauses.py SPOOR PRINT_ITEMS STANDS LIBRARY     (print_items.c, programs/stands.c)
"""
import collections
import os
import subprocess
import sys

from attach import Spoor, check, main, run
from harness import Failure

WAITING = "sleeps", "polls", "epolls", "reads", "locks"

Item = collections.namedtuple("Item", "thread ticks what words")
Pause = collections.namedtuple("Pause", "begin end cause in_call")


def items_of(print_items, trace="trace"):
    """The items of each thread, by its name."""
    done = run([print_items, trace])
    check(done.status == 0, f"{trace} cannot be read: {done.stderr.decode()}")
    items = collections.defaultdict(list)
    for line in done.stdout.decode().splitlines():
        _, name, ticks, what, *words = line.split()
        items[name].append(Item(name, int(ticks), what, words))
    return items


def pauses_of(items):
    """The pauses among ITEMS, of one thread. Each ends before the next item, and begins behind the one before."""
    pauses, last = [], 0
    for item in items:
        check(item.ticks >= last, f"{item} is earlier than the item before, at {last}")
        if item.what == "pause":
            begin = item.ticks - int(item.words[1])
            check(last <= begin < item.ticks, f"{item} begins before the item before, at {last}")
            pauses.append(Pause(begin, item.ticks, item.words[0], "in-call" in item.words))
        last = item.ticks
    return pauses


def span_of(items, function):
    """When the only call of FUNCTION begins and ends."""
    ticks = [item.ticks for item in items if item.words[:1] == [function]]
    check(len(ticks) == 2, f"{function} has {len(ticks)} events")
    return ticks


def test_load(spoor, print_items, stands, library):
    done = spoor.record(["-M", "*", "--overflow=wait"], [stands, "loads", library])
    check(done.status == 0, f"status {done.status}: {done.stderr}")
    items = items_of(print_items)["stands"]
    pauses = pauses_of(items)
    begin, end = span_of(items, "load")
    inside = [p for p in pauses if begin <= p.begin and p.end <= end and p.cause == "dlopen"]
    check(inside, f"no pause in load(), from {begin} to {end}: {pauses}")
    check(sum(p.end - p.begin for p in inside) < end - begin, "load() has taken no time")
    starts = [p for p in pauses if p.cause == "start"]
    check(len(starts) == 1 and starts[0] == pauses[0], f"not one pause at the start: {pauses}")
    check(not any(p.in_call for p in pauses), f"in a blocking call: {pauses}")


def test_full_ring(spoor, print_items, stands):
    count = 100000
    done = spoor.record(["-F", "step", "--buffer=4K", "--overflow=wait"], [stands, "calls", str(count)])
    check(done.status == 0, f"status {done.status}: {done.stderr}")
    items = items_of(print_items)["stands"]
    pauses = [p for p in pauses_of(items) if p.cause == "ring"]
    check(pauses and not any(p.in_call for p in pauses), f"{len(pauses)} pauses of a full ring")
    begin, end = (next(i.ticks for i in order if i.words == ["step"]) for order in (items, items[::-1]))
    check(all(begin <= p.begin and p.end <= end for p in pauses), "pauses before or behind the calls")
    events = [item for item in items if item.words == ["step"]]
    check(len(events) == 2 * count, f"{len(events)} events instead of {2 * count}")


def test_dropped(spoor, print_items, stands):
    """What is not lost is whole between two gaps: calls and returns by turns."""
    count = 300000
    done = spoor.record(["-F", "step", "--buffer=4K", "--overflow=drop"], [stands, "calls", str(count)])
    check(done.status == 0, f"status {done.status}: {done.stderr}")
    items = [i for i in items_of(print_items)["stands"] if i.what in ("entry", "return", "gap")]
    lost = sum(int(i.words[0]) for i in items if i.what == "gap")
    check(len([i for i in items if i.what != "gap"]) + lost == 2 * count, "events are neither recorded nor lost")
    for one, other in zip(items, items[1:]):
        check(one.what != other.what or one.what == "gap", f"an event is missing between {one} and {other}")


def ask(spoor, pid, *words):
    done = run([spoor.path, "ctl", str(pid), *words])
    check(done.status == 0, f"ctl {words}: {done.stderr.decode()}")


def attach_and_change(spoor, program):
    """Attaches to PROGRAM, changes the filter, pauses, goes on and ends."""
    with subprocess.Popen([spoor.path, "attach", "-q", "-p", str(program.pid), "-o", "attached"],
                          stderr=subprocess.PIPE) as attach:
        while run([spoor.path, "ctl", str(program.pid), "status"]).status:
            if attach.poll() is not None:
                raise Failure(f"attach has ended: {attach.stderr.read().decode()}")
        ask(spoor, program.pid, "filter", "-F", "step")
        ask(spoor, program.pid, "pause")
        ask(spoor, program.pid, "resume")
        ask(spoor, program.pid, "stop")
        attach.communicate()


def test_stops(spoor, print_items, stands):
    with subprocess.Popen([stands, "waits"], stdout=subprocess.PIPE) as program:
        try:
            check(program.stdout.readline() == b"ready\n", "the program is not ready")
            attach_and_change(spoor, program)
        finally:
            program.kill()
    items = items_of(print_items, "attached")
    for name in ("computes", *WAITING):
        pauses = [p for p in pauses_of(items[name]) if p.cause != "ring"]
        causes = collections.Counter(p.cause for p in pauses)
        check(causes["start"] >= 1 and causes["filter"] >= 3 and set(causes) == {"start", "filter"},
              f"pauses of {name}: {pauses}")
        wrong = [p for p in pauses if p.in_call != (name in WAITING)]
        check(not wrong, f"{name}: {wrong}")
    check_marks(spoor)


def check_marks(spoor):
    """Views tell pauses in blocking calls from others."""
    pauses = [line for line in spoor.all_json_lines("replay", "--json", "attached") if line["kind"] == "pause"]
    in_call = sum("in_call" in line for line in pauses)
    check(0 < in_call < len(pauses), f"{in_call} of {len(pauses)} pauses in a call")
    chrome = spoor.view("export", "--format=chrome", "attached")
    check(chrome.count(b'"args":{"in_call":true}') == 2 * in_call, f"Chrome: not {in_call} pauses in a call")
    text = spoor.view("replay", "attached")
    check(text.count(b", in a system call */") == in_call, f"replay: not {in_call} pauses in a call")


def test(spoor, print_items, stands, library):
    test_load(spoor, print_items, stands, library)
    test_full_ring(spoor, print_items, stands)
    test_dropped(spoor, print_items, stands)
    test_stops(spoor, print_items, stands)


if __name__ == "__main__":
    paths = [os.path.realpath(path) for path in sys.argv[2:]]
    subject = Spoor(sys.argv[1])
    main(lambda: test(subject, *paths))
