"""A Go program whose goroutines change threads, and whose stacks move while calls are open: they grow, and a garbage
collection shrinks them. Each call is at its place in the tree, and lasts from its entry to its return."""
import collections
import os
import sys

from real import ENVIRONMENT, SPOOR, compiled, which

from harness import Spoor, check, check_same, check_same_outcome, main, run

DIRECTORY = compiled([which("go"), "build", "-o", "roaming"], "roaming.go", GO111MODULE="off",
                     GOFLAGS="", CGO_ENABLED="0")
PROGRAM = os.path.join(DIRECTORY, "roaming")
ROAMERS, ROUNDS, DEPTH, HOLDERS, SERVED = 6, 5, 1500, 4, 50


def expected():
    """{path: calls}. The compiler makes a function of `go f(x)`, which calls f."""
    roam, hold = ("main.main.func1", "main.roam"), ("main.shrink.func1", "main.hold")
    tree = {("main.main",): 1, ("main.main", "main.ask"): 1, ("main.main", "main.shrink"): 1,
            roam[:1]: ROAMERS, roam: ROAMERS, (*roam, "main.wander"): ROAMERS * ROUNDS,
            (*roam, "main.wander", "main.leaf"): ROAMERS * ROUNDS,
            ("main.ask.func1",): 1, ("main.ask.func1", "main.serve"): 1,
            ("main.ask.func1", "main.serve", "main.leaf"): SERVED,
            hold[:1]: HOLDERS, hold: HOLDERS, (*hold, "main.place"): 2 * HOLDERS}
    for path, name, count in (roam, "main.deep", ROAMERS), (hold, "main.grow", HOLDERS):
        for _ in range(DEPTH + 1):
            path = (*path, name)
            tree[path] = count
        if name == "main.deep":
            tree[(*path, "main.wander")] = tree[(*path, "main.wander", "main.leaf")] = count
    return {abbreviated(path): count for path, count in tree.items()}


def abbreviated(path):
    """The path as text, with numbers for repetitions."""
    short = []
    for name in path:
        if short and short[-1][0] == name:
            short[-1] = name, short[-1][1] + 1
        else:
            short.append((name, 1))
    return " / ".join(f"{name} x {n}" if n > 1 else name for name, n in short)


def calls_by_path(graph):
    """{path: calls} of the program's own functions; others are skipped."""
    found = collections.Counter()
    waiting = [(graph, ())]
    while waiting:
        node, path = waiting.pop()
        if node["name"].startswith("main."):
            path = (*path, node["name"])
            found[abbreviated(path)] += node["calls"]
        waiting += [(child, path) for child in node["children"]]
    return found


def check_tree(spoor, what):
    if not spoor.is_whole():
        return
    show = lambda tree: sorted(f"{path}: {calls}" for path, calls in tree.items())
    check_same(f"{what}: graph", show(expected()), show(calls_by_path(spoor.graph())))
    for row in spoor.report():
        check(not row["function"].startswith("main.") or row["unwound"] == 0,
              f"{what}: {row['function']} was unwound {row['unwound']} times")
    ends = [item for item in spoor.replay() if item["kind"] == "exit"]
    moved = collections.Counter(item["function"] for item in ends if "began_tid" in item)
    for name in "main.wander", "main.deep":
        check(moved[name], f"{what}: no call of {name} ends in another thread")


def test():
    spoor = Spoor(SPOOR)
    alone = run([PROGRAM], env=ENVIRONMENT)
    check(alone.stdout.endswith(f" {HOLDERS}\n".encode()), f"alone: not all stacks shrink: {alone}")
    for options in [], ["-F", "main.*"]:
        what = "spoor record " + " ".join(options)
        check_same_outcome(alone, spoor.record(options, [PROGRAM], env=ENVIRONMENT), what)
        check_tree(spoor, what)


if __name__ == "__main__":
    sys.setrecursionlimit(20000)  # graphs are as deep as the program's calls
    main(test)
