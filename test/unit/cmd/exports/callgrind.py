"""callgrind_annotate reads what export --format=callgrind writes: self times, and calls by functions."""
import collections
import os
import re

import traces

NUMBER = r" *([\d,]+) *(?:\([^)]*\))? +"


def annotate(path, *options):
    text = traces.run("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", *options, path)
    return text.decode(errors="replace")


def number(text):
    return int(text.replace(",", ""))


def self_times(path):
    """(total, {function: ns})"""
    text, times = annotate(path), collections.Counter()
    total = number(re.search(r"^ *([\d,]+) .*PROGRAM TOTALS", text, re.M)[1])
    for line in text.split("file:function", 1)[1].splitlines():
        found = re.match(NUMBER + r"(?:\?\?\?|[^:]*/[^:]*):(.*) \[[^\[]*\]$", line)
        if found:
            times[found[2]] += number(found[1])
    return total, times


def callers(path):
    """{(caller, callee): [calls, ns]}, by functions' names."""
    edges, before = collections.defaultdict(lambda: [0, 0]), []
    for line in annotate(path, "--tree=caller", "--inclusive=yes").split("file:function", 1)[1].splitlines():
        found = re.match(NUMBER + r"([<*]) +(?:\?\?\?|[^:]*/[^:]*):(.*?)(?: \(([\d,]+)x\))? \[[^\[]*\]$", line)
        if not found:
            before = []
        elif found[2] == "<":
            before.append((found[3], number(found[4]), number(found[1])))
        else:
            for caller, calls, ns in before:
                edges[caller, found[3]][0] += calls
                edges[caller, found[3]][1] += ns
    return edges


def nodes(graph, around=()):
    for child in graph["children"]:
        yield child, around
        yield from nodes(child, (*around, child["name"]))


def edges_of_graph(trace):
    """The same of spoor graph, for traces of one process."""
    graph = traces.json.loads(trace.view("graph", "--json"))
    edges = collections.defaultdict(lambda: [0, 0])
    for node, around in nodes(graph):
        pairs = list(zip(around, around[1:]))
        edge = edges[around[-1] if around else None, node["name"]]
        edge[0] += node["calls"] + node["before"]
        if not around or (around[-1], node["name"]) not in pairs:
            edge[1] += node["total_ns"]
    return edges


def check(trace, directory):
    path = trace.export("callgrind", os.path.join(directory, "out"))
    report = trace.report()
    total, times = self_times(path)
    assert total == sum(row["self_ns"] for row in report.values())
    if trace.path.endswith(("names", "hostile")):
        assert sum(ns > 0 for ns in times.values()) == sum(row["self_ns"] > 0 for row in report.values())
        return
    times = {name: ns for name, ns in times.items() if ns}
    assert times == {name: row["self_ns"] for name, row in report.items() if row["self_ns"]}, times
    if trace.path.endswith(("callers", "alike")):
        return  # functions that were not traced are callers
    edges = callers(path)
    calls = collections.Counter()
    for (_, callee), (count, _) in edges.items():
        calls[callee] += count
    assert calls == collections.Counter({name: row["calls"] + row["before"] for name, row in report.items()}), edges
    if trace.path.endswith("random") and "--since=20us" not in trace.options:
        found = {(None if caller.startswith("[") else caller, callee): edge for (caller, callee), edge in edges.items()}
        assert found == dict(edges_of_graph(trace)), (found, edges_of_graph(trace))


def check_lines(trace, directory):
    """Files and lines, of a program with debugging information."""
    path = trace.export("callgrind", os.path.join(directory, "out"))
    total, times = self_times(path)
    report = trace.report()
    assert total == sum(times.values()) == sum(row["self_ns"] for row in report.values())
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"^fl=\(\d+\) (?:.*/)?lines\.c\nfn=\(\d+\) (\w+)\n(\d+) ", file.read(), re.M)
    for name, line in found:
        assert int(line) == traces.PROGRAM_LINES[name], found
    assert found


traces.need("callgrind_annotate")
traces.check_all(check, check_lines)
