"""spoor attaches to a Go program whose goroutines are in the middle of calls. Their stacks are side by side, and spoor
has not recorded their creation. Calls of one goroutine are not shown below those of another."""
import os
import sys

from real import SPOOR, compiled, which

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "attach"))
# pylint: disable=wrong-import-position
from attach import Spoor, attach_until_seen, check, main, running  # noqa: E402

DIRECTORY = compiled([which("go"), "build", "-o", "parked"], "parked.go", GO111MODULE="off",
                     GOFLAGS="", CGO_ENABLED="0")
WORKERS = 40  # each has one open call at detach
WAYS = ["-F", "main.*"], ["-F", "main.*", "-M", "*"], ["-F", "main.*"]


def calls_below(node, name, found):
    """How many calls of NAME are shown below other calls of NAME."""
    inside = found or node["name"] == name
    return sum((child["calls"] if inside and child["name"] == name else 0) +
               calls_below(child, name, inside) for child in node["children"])


def test():
    spoor = Spoor(SPOOR)
    with running([os.path.join(DIRECTORY, "parked")]) as process:
        for way in WAYS:
            info = attach_until_seen(spoor, process.pid, "--overflow=wait", *way, events=100000)
            rows = {row["function"]: row for row in spoor.report()}
            check(info["events"]["lost"] == 0, f"{way}: {info['events']}")
            check(rows["main.work"]["calls"] > 1000, f"{way}: {rows['main.work']}")
            check(rows["main.work"]["unwound"] <= WORKERS, f"{way}: {rows['main.work']}")
            check(calls_below(spoor.graph(), "main.work", False) == 0, f"{way}: calls below others' calls")


if __name__ == "__main__":
    main(test)
