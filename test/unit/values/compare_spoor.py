#!/usr/bin/env python3
"""Compares what `spoor record -a` and `spoor replay --json` show with what a stepper finds at the same calls.

    compare_spoor.py SPOOR STEPPER COMPILER SOURCE

The stepper (stepper.c) captures at breakpoints, the recording in stubs: each value must be equal, but for addresses of
the stack, which is where the kernel has put it. A second recording comes to its stubs by traps only.
"""
import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
BY_TRAPS = ["--tier=trap", "--trap-limit=1000000000"]


def masked(value):
    return re.sub(r'"0x7ff[0-9a-f]+"', '"STACK"', json.dumps(value, sort_keys=True))


def by_function(lines):
    """The arguments and results of each function, in their order."""
    found = collections.defaultdict(list)
    for line in lines:
        entry = json.loads(line)
        for kind in ("args", "ret"):
            if entry.get(kind):
                if kind == "ret":
                    entry[kind].pop("name", None)
                found[entry["function"], kind].append(masked(entry[kind]))
    return found


def has_only_traps(spoor, trace):
    info = json.loads(subprocess.run([spoor, "info", "--json", trace], capture_output=True, check=True).stdout)
    functions = info["functions"]
    return all(name == "trap" or not count for tiers in ("tiers", "exit_tiers")
               for name, count in functions[tiers].items())


def compare(spoor, stepper, program, trace, options):
    stepped = subprocess.run([stepper, "1000", program], capture_output=True, text=True, check=False).stdout
    subprocess.run([spoor, "record", "-q", "-a", *options, "-o", trace, program], check=True, stdout=subprocess.DEVNULL)
    if options == BY_TRAPS and not has_only_traps(spoor, trace):
        print("not all sites are traps")
        return True
    replayed = subprocess.run([spoor, "replay", "--json", trace], capture_output=True, text=True, check=True).stdout
    wanted, found = by_function(stepped.splitlines()), by_function(replayed.splitlines())
    wrong, count = [], 0
    for key, values in wanted.items():
        if key not in found:
            continue
        count += len(values)
        wrong += [f"{key}: {b}, not {a}" for a, b in zip(values, found[key]) if a != b]
        if len(values) != len(found[key]):
            wrong.append(f"{key}: {len(found[key])} calls with values, not {len(values)}")
    print(f"{count} lists of values of {len(found)} kinds, {len(wrong)} wrong")
    print("\n".join(wrong[:30]))
    return bool(wrong) or count < 20


def main():
    spoor, stepper, compiler, source = sys.argv[1:]
    if not shutil.which(compiler):
        print(f"{compiler} is missing")
        return SKIPPED
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for level in ("-O0", "-O2"):
            program = Path(folder) / f"program{level}"
            subprocess.run([compiler, "-g", "-w", "-no-pie", "-fno-pie", level, "-o", program, source, "-lm"], check=True)
            for options in [], BY_TRAPS:
                failed |= compare(spoor, stepper, program, Path(folder) / "trace", options)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
