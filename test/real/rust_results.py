#!/usr/bin/env python3
"""What Rust functions return is what the program prints: rust_results.rs.

    rust_results.py SPOOR SOURCE MOST-UNKNOWN COMPILER OPTION...

Each line of the program's output is the name of a function and the leaves of what it has returned, in their order.
At most MOST-UNKNOWN % of the results may be unknown. A result that differs is an error, and so is a function whose
results are not among those of the trace.
"""
import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def leaves(value):
    """The numbers, texts and variants of a value, as words."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if re.fullmatch("[A-Z]\\w*", name):
                yield name
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, float) and value.is_integer():
        yield str(int(value))
    else:
        yield "?" if value is None else str(value)


def returned(spoor, trace):
    """The words of each call's result, by the name of the function."""
    found = collections.defaultdict(list)
    replay = subprocess.run([spoor, "replay", "--json", trace], check=True, capture_output=True, text=True)
    for line in replay.stdout.splitlines():
        event = json.loads(line)
        if event.get("kind") == "exit":
            value = event.get("ret", {"value": []})
            found[event["function"].split("::")[-1]].append(["?"] if value.get("missing") else list(leaves(value["value"])))
    return found


def is_function(shown, address):
    """A pointer to a function is shown by its name."""
    return re.fullmatch(r"[a-z_:]+", shown) and address.startswith("0x")


def same(shown, printed):
    return len(shown) == len(printed) and all(a == b or is_function(a, b) for a, b in zip(shown, printed))


def main():
    spoor, source, most, *compiler = sys.argv[1:]
    if not shutil.which(compiler[0]):
        print(f"{compiler[0]} is missing")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program, trace = Path(folder) / "results", Path(folder) / "trace"
        subprocess.run([*compiler, "-g", "-o", program, source], check=True)
        done = subprocess.run(["setarch", "-R", spoor, "record", "-q", "-a", "--formats=none", "-o", trace, program],
                              check=True, capture_output=True, text=True)
        found = returned(spoor, trace)
    printed = [line.split() for line in done.stdout.splitlines()]
    wrong, unknown, next_of = [], collections.Counter(), collections.Counter()
    for name, *words in printed:
        shown = found[name][next_of[name]] if next_of[name] < len(found[name]) else ["nothing"]
        next_of[name] += 1
        if "?" in shown:
            unknown[name] += 1
        elif not same(shown, words):
            wrong.append(f"{name}: spoor {shown}, the program {words}")
    percent = 100 * sum(unknown.values()) / len(printed)
    print(f"{' '.join(compiler)}: {len(printed)} results, {percent:.1f} % unknown: {', '.join(unknown)}")
    print("\n".join(f"wrong: {line}" for line in wrong))
    return int(bool(wrong) or percent > float(most) or len(printed) < 100)


if __name__ == "__main__":
    sys.exit(main())
