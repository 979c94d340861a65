"""What --stack adds to a call, by its number of callers."""
import json
import os

from measure import Table, cell, median, processor_seconds, run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deep.c")
CALLS, DEPTHS = 10000, (2, 10, 30, 100)
TEXT = ("Processor time that --stack adds to a call: in the calling thread, which copies the stack, and in all, the "
        "drainer's included, which finds the callers. Rings never fill.")


def measure_depth(bench, program, depth):
    """The number of callers, how their list ends, and samples for thread and all."""
    words = [program, str(depth), str(CALLS)]
    commands = {name: [*bench.record("-F", "leaf", "--buffer=512M", *options), *words]
                for name, options in {"plain": [], "stack": ["--stack=200"]}.items()}
    thread = bench.in_turn(commands, lambda command: float(run(command)))
    both = bench.in_turn(commands, lambda command: processor_seconds(command) * 1e9 / CALLS)
    row = json.loads(run([bench.spoor, "report", "--json", "--stack", bench.path("t.trace")]))[0]
    added = [[value - median(samples["plain"]) for value in samples["stack"]] for samples in (thread, both)]
    return len(row["stack"]), added, commands["stack"]


def measure(bench):
    program = bench.path("deep")
    run(["gcc", "-O2", SOURCE, "-o", program])
    table = Table("Callers", ["in the thread, ns", "in all, ns", "each, in the thread", "each, in all"], TEXT,
                  plot=[0, 1])
    for depth in DEPTHS:
        frames, (thread, both), command = measure_depth(bench, program, depth)
        table.row(f"{frames} callers", [cell(thread), cell(both), cell([value / frames for value in thread]),
                                        cell([value / frames for value in both])], bench.shown(command))
    return [table]
