#!/usr/bin/env python3
"""exact.py SPOOR PROGRAM...

What is traced of these in emulated machines is compared with calls that they tell of, in which an end that is inferred looks
like one that was seen. So here: none of their functions has one, but linkers' veneers to functions that are farther away
than a jump leads, which are a load and its word."""
import json
import os
import subprocess
import sys


def inferred(spoor, program):
    explained = subprocess.run([spoor, "explain", "--json", program], stdout=subprocess.PIPE, check=True)
    for function in json.loads(explained.stdout):
        if function["inferred"] and not function["function"].endswith("_veneer"):
            yield f"{os.path.basename(program)}: {function['function']}: {function['inferred']}"


def main(spoor, *programs):
    found = [line for program in programs for line in inferred(spoor, program)]
    print(*found, f"{len(programs)} programs", sep="\n")
    return 1 if found or not programs else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
