"""Readers: how fast views are, on one core and on all."""
import shutil

from groups import price, programs
from measure import Table, cell, present, run, seconds

PERL = ("my %h; sub step { my ($x) = @_; return $x % 7 ? $x * 3 + 1 : $x / 7 } "
        "for my $i (1 .. 60000) { my $x = step($i); $h{$x % 999} .= chr(65 + $i % 26) if $i % 3 } "
        "print length(join '', map { $h{$_} } sort keys %h)")
SQL = programs.SQL.replace("600000", "20000")
VIEWS = {"report": ["report"], "graph": ["graph"], "replay": ["replay"], "chrome": ["export", "--format=chrome"]}
PEER = {"report": ["report"], "graph": ["graph"], "replay": ["replay"], "chrome": ["dump", "--chrome"]}
TEXT = ("Millions of events that a view reads in a second, start to end, its output thrown away. The traces are of the "
        "benchmark's own calls, and of sqlite3 and perl with -M '*'. uftrace reads the same calls as the benchmark's.")


def traces(bench):
    """{name: (how to record it, events)}; the trace is NAME.trace."""
    table = {"calls": ([], [bench.path("calls"), price.CALLS, price.DEPTH]),
             **{name: (["-M", "*"], command) for name, command in
                present({"sqlite3": ["sqlite3", ":memory:", SQL], "perl": ["perl", "-e", PERL]}).items()}}
    found = {}
    for name, (options, command) in table.items():
        run([*bench.record(*options, trace=f"{name}.trace"), *command])
        events = bench.info(f"{name}.trace")["events"]
        found[name] = (events["entry"] + events["exit"]) / 1e6
    return found


def speed(bench, commands, events):
    """{name: samples of millions of events a second}"""
    return {name: [events / s for s in samples] for name, samples in bench.in_turn(commands, seconds).items()}


def peer(bench):
    if not shutil.which("uftrace"):
        return {}
    data = bench.path("views.data")
    run(["uftrace", "record", "--no-libcall", "-d", data, "-P", ".", bench.path("calls"), price.CALLS, price.DEPTH])
    return {name: ["uftrace", *words, "-d", data] for name, words in PEER.items()}


def measure(bench):
    price.build(bench)
    found = traces(bench)
    columns = list(VIEWS)
    cores = {1: "one core"} | ({len(bench.cores): "all cores"} if len(bench.cores) > 1 else {})
    table = Table("Views, millions of events a second", ["events, millions", *columns], TEXT, plot=[1, 2])
    for name, events in found.items():
        for count, words in cores.items():
            commands = {view: bench.on_cores(count, [bench.spoor, *rest, bench.path(f"{name}.trace")])
                        for view, rest in VIEWS.items()}
            samples = speed(bench, commands, events)
            table.row(f"{name}, {words}", [events, *(cell(samples[view], best=max) for view in columns)],
                      bench.shown(commands["report"]))
    peers = peer(bench)
    if peers:
        samples = speed(bench, peers, found["calls"])
        table.row("calls, uftrace", [found["calls"], *(cell(samples[view], best=max) for view in columns)],
                  bench.shown(peers["report"]))
    return [table]
