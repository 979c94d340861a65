"""A minute at full rate. Measured only with LONG=1."""
import json

from groups import price
from measure import Observed, Table, cell, run

SECONDS = 60
COLUMNS = ["untraced, s", "newest kept, s", "lossless, s", "lossless of newest kept", "calls, millions",
           "bytes a call", "lost", "memory, MB", "disk, MB", "returns after, s"]
TEXT = ("As many calls of a function that does nothing as take about a minute when the newest are kept. Memory: "
        "spoor's own at its peak, rings and waiting blocks included. Returns after: from the program's end to that of "
        "spoor.")


def measure(bench):
    table = Table("A minute at full rate, two cores", COLUMNS, TEXT)
    if not bench.long:
        return [table]
    calls = price.build(bench)["calls"]
    newest = [*bench.record("--overflow=overwrite"), calls]
    ns = json.loads(run([*newest, "20000000", "1"]))["leaf_ns"]
    words = [str(int(SECONDS * 1e9 / ns)), "1"]
    variants = {"untraced": [calls], "newest": newest, "lossless": [*bench.record(), calls]}
    commands = {name: bench.on_cores(2, [*command, *words]) for name, command in variants.items()}
    samples = bench.in_turn(commands, lambda command: Observed(command, bench.path("t.trace")))
    info, lossless = bench.info(), samples["lossless"]
    alone = sorted(r.seconds for r in samples["newest"])[len(samples["newest"]) // 2]
    table.row("calls", [*(cell([r.seconds for r in samples[name]]) for name in commands),
                        cell([r.seconds / alone for r in lossless]), info["events"]["entry"] / 1e6,
                        info["bytes"] / info["events"]["entry"], info["events"]["lost"],
                        cell([r.peak_mb for r in lossless]), cell([r.disk_mb for r in lossless]),
                        cell([r.late for r in lossless])], bench.shown(commands["lossless"]))
    return [table]
