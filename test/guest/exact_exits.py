#!/usr/bin/env python3
"""exact_exits.py SPOOR PROGRAM...

Each function of the PROGRAMs has exact exits: no end of a call is inferred. Tests in emulated machines
compare traces with the calls that programs print. They do not see the difference, so this test does.
Excepted are linkers' veneers (a load and its word), which lead to functions out of a jump's reach."""
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
