"""What captured arguments cost: beside the event, on disk, in a real program, and where pointers lead nowhere.

The prices of the design stand beside the figures.
"""
import json
import os
import re
import shutil
import subprocess

from measure import Failed, Table, cell, median, run
from groups.programs import SQL

CALLS = 1000000
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "values.c")
KINDS = {"numbers": ["three integers, two of 64 bits", 3], "text": ["a text of 32 bytes", 20],
         "member": ["a member through two pointers", 4]}
ASKED = ["-A", "numbers", "-A", "text", "-A", "member@o->inner->price"]
TEXT = ("Nanoseconds that captured arguments add to an entry's event, with the newest kept; the functions do nothing. "
        "Of the peer, likewise: its recording with arguments and without. It needs a program with room at functions' "
        "starts (-fpatchable-function-entry=5): these are too short for its patches. 0.19 of uftrace cannot follow "
        "pointers.")
PEER_ASKED = ["-A", "numbers@arg1/i32,arg2/i64,arg3/u64", "-A", "text@arg1/s"]
PEER_SHOWS = ["numbers(1, 4294967296, 0x5555555555555554)", 'text("this text has thirty-two letters")', "member()"]


def build(bench, name="values", *options):
    program = bench.path(name)
    run(["gcc", "-O2", "-g", *options, SOURCE, "-o", program])
    return program


def peer(bench):
    """The beginning of the peer's command, and its program. Fails if it does not record what it is asked for."""
    program = build(bench, "values-with-room", "-fpatchable-function-entry=5")
    data = bench.path("uftrace.data")
    command = ["uftrace", "record", "--no-libcall", "-d", data]
    command += [word for name in ("nothing", *KINDS) for word in ("-P", name)]
    run([*command, *PEER_ASKED, program, "3"])
    replay = run(["uftrace", "replay", "-d", data])
    missing = [call for call in PEER_SHOWS if call not in replay]
    if missing:
        raise Failed(f"uftrace records no {missing[0]}")
    return command, program


def chosen(*more):
    return [word for name in ("nothing", *KINDS) for word in ("-F", name)] + list(more)


def price(bench, program):
    commands = {"events": [*bench.record("--overflow=overwrite", *chosen()), program, str(CALLS)],
                "values": [*bench.record("--overflow=overwrite", *chosen(*ASKED)), program, str(CALLS)]}
    columns = ["spoor, ns", "design, ns"]
    if shutil.which("uftrace"):
        uftrace, peers = peer(bench)
        commands["uftrace events"] = [*uftrace, peers, str(CALLS)]
        commands["uftrace values"] = [*uftrace, *PEER_ASKED, peers, str(CALLS)]
        columns.append("uftrace -A, ns")
    samples = bench.in_turn(commands, lambda command: json.loads(run(command)))

    def added(kind, who):
        base = median([s[kind] for s in samples[who + "events"]])
        return cell([s[kind] - base for s in samples[who + "values"]])

    table = Table("Price of captured arguments", columns, TEXT, plot=[0])
    for kind, (title, design) in KINDS.items():
        cells = [added(kind, ""), design]
        if len(columns) > 2:
            cells.append(None if kind == "member" else added(kind, "uftrace "))
        table.row(title, cells, bench.shown(commands["values"]))
    return table


def numbers_in(bench):
    """How many arguments and results of the trace are numbers or pointers; a text has a pointer."""
    count = 0
    with subprocess.Popen([bench.spoor, "replay", "--json", bench.path("t.trace")], stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            entry = json.loads(line)
            items = entry.get("args", []) + ([entry["ret"]] if entry.get("ret") else [])
            count += sum(isinstance(item.get("value"), (int, str)) for item in items)
    return count


def on_disk(bench):
    options, program = ["-M", "*", "-a", "--strings=1"], ["sqlite3", ":memory:", SQL.replace("600000", "6000")]
    table = Table("Values on disk", ["numbers, millions", "bytes a number", "design"],
                  "How much larger a lossless trace of sqlite3 is with -a, in parts of its numbers and pointers. Texts "
                  "have one byte at most.")
    if not shutil.which("sqlite3"):
        return table
    run([*bench.record("-M", "*"), *program])
    before = bench.info()["bytes"]
    run([*bench.record(*options), *program])
    count = numbers_in(bench)
    table.row("sqlite3", [count / 1e6, (bench.info()["bytes"] - before) / max(count, 1), 6],
              bench.shown([*bench.record(*options), *program]))
    return table


def whole_program(bench):
    table = Table("sqlite3 with -a, lossless", ["without, s", "with, s", "of without", "design"],
                  "Start to end, without planning, with -M '*'. Values are of functions whose types are known: with "
                  "Debian's debug package (libsqlite3-0-dbgsym) of all, without it of the C library's.")
    if not shutil.which("sqlite3"):
        return table
    commands = {name: [*bench.record("-M", "*", *options), "sqlite3", ":memory:", SQL]
                for name, options in {"without": [], "with": ["-a"]}.items()}

    def seconds(command):
        run(command)
        return bench.info()["duration_ns"] / 1e9

    samples = bench.in_turn(commands, seconds)
    base = median(samples["without"])
    table.row("sqlite3", [cell(samples["without"]), cell(samples["with"]),
                          cell([value / base for value in samples["with"]]), 2.5], bench.shown(commands["with"]))
    return table


def withdrawal(bench, program):
    """A message says how many faults there were before: each of the first calls is one. The program says when they were."""
    command = [*bench.record("-A", "nowhere"), program, "wild", "10000"]
    command.remove("-q")
    table = Table("A pointer that leads nowhere", ["calls a second", "faults before it is withdrawn", "ms until then",
                                                   "design, ms"],
                  "By the program's own clock, from its first call until that after which no read faults any more. The "
                  "program makes 10 000 calls a second.")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    figures, told = json.loads(done.stdout), re.search(r"reads of its values .* \((\d+) in all\)", done.stderr)
    ended, faults = figures["ended"], int(told[1]) if told else None
    table.row("nowhere()", [len(ended) / ended[-1], faults, faults and ended[faults - 1] * 1000, 1000],
              bench.shown(command))
    return table


def measure(bench):
    program = build(bench)
    return [price(bench, program), on_disk(bench), whole_program(bench), withdrawal(bench, program)]
