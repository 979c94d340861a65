#!/usr/bin/env python3
"""make bench: what tracing costs, compared in one run with a floor (the cheapest possible event) and with peers.

    bench.py [--anyway] [--long] [--only=GROUP,…] [--rounds=N] SPOOR OUTPUT.json

Writes OUTPUT.json, OUTPUT-GROUP.svg, and a page of tables to standard output (page.py prints it again). Figures are
medians of rounds; the worst of each is there, too. Within a round all variants run in turn. Refuses a machine on which
others work, unless it is told to measure anyway; the output says how much they did in each group. This is not a test:
no figure fails anything.

The environment has the same options: ANYWAY=1, LONG=1 (also a minute at full rate), ONLY, ROUNDS.
"""
import argparse
import importlib
import json
import os
import sys
import tempfile
import time

import host
import page
import plot
from measure import Bench, Failed

GROUPS = ["price", "programs", "minute", "threads", "start", "attach", "exec", "planning", "views", "pictures",
          "callers", "values", "uprobes"]
ROUNDS = 5


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("spoor", type=os.path.abspath)
    parser.add_argument("output")
    environment = os.environ
    parser.add_argument("--anyway", action="store_true", default=environment.get("ANYWAY", "") not in ("", "0"))
    parser.add_argument("--long", action="store_true", default=environment.get("LONG", "") not in ("", "0"))
    parser.add_argument("--only", default=environment.get("ONLY", ""))
    parser.add_argument("--rounds", type=int, default=int(environment.get("ROUNDS") or ROUNDS))
    arguments = parser.parse_args()
    arguments.groups = [name for name in arguments.only.split(",") if name] or GROUPS
    unknown = [name for name in arguments.groups if name not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]}; there are {', '.join(GROUPS)}")
    if arguments.rounds < 1:
        parser.error("at least one round")
    return arguments


def look_at_load(anyway):
    """What others do now. Ends the run if that is too much."""
    others = host.others_now()
    loaded = others > host.BUSY_MOST
    if loaded and not anyway:
        sys.exit(f"bench.py: other processes use {others:.2f} processors (load {' '.join(host.load())}; at most "
                 f"{host.BUSY_MOST} is quiet): wait until they are done, or measure with ANYWAY=1")
    return {"average": host.load(), "others": others, "loaded": loaded}


def measure_group(name, bench):
    module = importlib.import_module(f"groups.{name}")
    result = {"about": module.__doc__.split("\n\n")[0].replace("\n", " ").strip(), "tables": []}
    print(f"bench.py: {name} …", file=sys.stderr, flush=True)
    result["fixed_work"] = host.fixed_work()
    with host.Others() as others:
        try:
            result["tables"] = [table.json() for table in module.measure(bench)]
        except Failed as why:
            result["failed"] = str(why)
    return result | {"seconds": others.seconds, "others": others.processors,
                     "loaded": others.processors > host.BUSY_MOST}


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    arguments = parse()
    load = look_at_load(arguments.anyway)
    result = {"time": time.strftime("%Y-%m-%d %H:%M"), "machine": host.describe(arguments.spoor), "load": load,
              "rounds": arguments.rounds, "groups": {}}
    stem = os.path.splitext(arguments.output)[0]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.spoor, folder, arguments.rounds, arguments.long)
        for name in arguments.groups:
            group = result["groups"][name] = measure_group(name, bench)
            write(arguments.output, json.dumps(result, indent=1))
            drawing = plot.draw(group["tables"])
            if drawing:
                write(f"{stem}-{name}.svg", drawing)
    print(page.page(result))
    failed = [f"{name}: {group['failed']}" for name, group in result["groups"].items() if "failed" in group]
    if failed:
        sys.exit("bench.py: " + "; ".join(failed))


if __name__ == "__main__":
    main()
