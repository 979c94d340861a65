"""What an exec costs: a program that runs some hundred others."""
from measure import Table, cell, median, run, seconds
import os

COUNT = 300


def measure(bench):
    folder = bench.path("files")
    os.makedirs(folder, exist_ok=True)
    for number in range(COUNT):
        open(os.path.join(folder, str(number)), "w", encoding="ascii").close()
    find = ["find", folder, "-type", "f", "-exec", "/bin/true", "{}", ";"]
    commands = {"untraced": find, "spoor": [*bench.record(), *find],
                "spoor -M '*'": [*bench.record("-M", "*"), *find],
                "spoor -M '*', newest kept": [*bench.record("-M", "*", "--overflow=overwrite"), *find]}
    for name in commands:
        run(commands[name])  # fills the cache
    samples = bench.in_turn(commands, lambda command: seconds(command) * 1e3)
    base = median(samples["untraced"])
    table = Table("An exec", ["all, ms", "added to each exec, ms"],
                  f"find runs {COUNT} small programs, one after the other. All plans are in the cache.", plot=[1])
    for name, values in samples.items():
        table.row(name, [cell(values), cell([(value - base) / COUNT for value in values])],
                  bench.shown(commands[name]))
    return [table]
