"""Counts instructions by valgrind's callgrind."""
import os
import re
import subprocess

OBJECT = re.compile(r"^(c?)ob=\((\d+)\)(?: (.*))?")
COST = re.compile(r"^(?:[+-]?\d+|\*|0x[0-9a-f]+) (\d+)$")


def by_object(path):
    """{file name of a program or library: instructions in its own code}, of an output file of callgrind (its manual,
    "Callgrind Format Specification")."""
    names, costs, current, inclusive = {}, {}, "", False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = OBJECT.match(line)
            if found:
                names.setdefault(found[2], os.path.basename(found[3] or ""))
                current = current if found[1] else names[found[2]]
            elif line.startswith("calls="):
                inclusive = True  # the next line is the cost of a callee
            else:
                found = COST.match(line)
                if found and not inclusive:
                    costs[current] = costs.get(current, 0) + int(found[1])
                inclusive = inclusive and not found
    return costs


def run(command, output="callgrind.out"):
    """Runs COMMAND; returns the instructions of its own code, and those of libraries."""
    done = subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={output}", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
    costs = by_object(output)
    os.remove(output)
    own = costs.pop(os.path.basename(command[0]))
    return own, sum(costs.values())
