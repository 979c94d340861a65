"""Many busy threads that share two cores, and threads that begin and end."""
import json
import os

from measure import Table, cell, median, run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "threads.c")
BUSY, MS, CREATED = 64, 2000, 20000
WAITS = ("64 threads call a function that does nothing, on two cores. For each thread, the longest time that 1000 calls "
         "took, of its processor time: a thread that waits for room in its ring spins. The columns show the median of "
         "the threads, the longest of any, and the ratio. On the wall: the same, with the times when others ran.")


def waits(bench, program):
    table = Table("64 busy threads on two cores",
                  ["median of threads, ms", "longest of any, ms", "longest of median", "on the wall, longest, ms",
                   "calls, millions", "fewest calls of a thread, of the mean"], WAITS, plot=[2])
    words = [program, "busy", str(BUSY), str(MS)]
    commands = {"untraced": words, "newest kept": [*bench.record("--overflow=overwrite"), *words],
                "lossless": [*bench.record(), *words],
                "lossless, --buffer=4K": [*bench.record("--buffer=4K"), *words]}
    commands = {name: bench.on_cores(2, command) for name, command in commands.items()}
    for name, rounds in bench.in_turn(commands, lambda command: json.loads(run(command))).items():
        middles = [median([t["cpu_ns"] for t in threads]) / 1e6 for threads in rounds]
        longest = [max(t["cpu_ns"] for t in threads) / 1e6 for threads in rounds]
        calls = [[t["calls"] for t in threads] for threads in rounds]
        table.row(name, [cell(middles), cell(longest), cell([a / b for a, b in zip(longest, middles)]),
                         cell([max(t["wall_ns"] for t in threads) / 1e6 for threads in rounds]),
                         cell([sum(each) / 1e6 for each in calls], best=max),
                         cell([min(each) * len(each) / sum(each) for each in calls], best=max)],
                  bench.shown(commands[name]))
    return table


def creation(bench, program):
    table = Table("20 000 threads, one after the other", ["a thread, us", "of untraced"],
                  "From the call that makes a thread to its end.", plot=[1])
    words = [program, "create", str(CREATED)]
    commands = {"untraced": words, "newest kept": [*bench.record("--overflow=overwrite"), *words],
                "lossless": [*bench.record(), *words],
                "lossless, -M '*'": [*bench.record("-M", "*"), *words]}
    samples = bench.in_turn(commands, lambda command: json.loads(run(command))["ns"] / 1e3)
    base = median(samples["untraced"])
    for name, values in samples.items():
        table.row(name, [cell(values), cell([value / base for value in values])], bench.shown(commands[name]))
    return table


def measure(bench):
    program = bench.path("threads")
    run(["gcc", "-O2", "-pthread", SOURCE, "-o", program])
    return [waits(bench, program), creation(bench, program)]
