"""go tool pprof reads what export --format=pprof writes: calls and self times of call paths."""
import collections
import os
import re

import traces

DEEPER = "[deeper than 512 calls]"
FILE = "out.pb.gz"


def pprof(path, *options):
    return traces.run("go", "tool", "pprof", "-symbolize=none", *options, path).decode()


class Profile:
    """Of the text that pprof -raw prints."""

    def __init__(self, path):
        self.text = pprof(path, "-raw")
        samples, rest = self.text.split("calls/count time/nanoseconds[dflt]\n")[1].split("Locations\n")
        locations, mappings = rest.split("Mappings\n")
        self.functions, self.lines, self.paths = {}, {}, []
        for line in locations.splitlines():
            found = re.match(r" +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*) (.*):(\d+) s=\d+(?:\(.*\))?$", line)
            self.functions[found[1]] = found[2]
            self.lines[found[2]] = (found[3], int(found[4]))
        for line in samples.splitlines():
            found = re.match(r" +(\d+) +(\d+): ((?:\d+ )+)$", line)
            if found:  # the others are labels
                path = [self.functions[number] for number in found[3].split()]
                self.paths.append((int(found[1]), int(found[2]), path))
        self.mappings = mappings.splitlines()

    def sums(self):
        """{function: (calls, ns)}"""
        sums = collections.defaultdict(lambda: [0, 0])
        for calls, ns, path in self.paths:
            sums[path[0]][0] += calls
            sums[path[0]][1] += ns
        return {name: tuple(sum) for name, sum in sums.items()}


def expected(trace):
    return {name: (row["calls"], row["self_ns"]) for name, row in trace.report().items() if row["calls"] or row["self_ns"]}


def check(trace, directory):
    path = trace.export("pprof", os.path.join(directory, FILE))
    wanted = expected(trace)
    if not wanted:
        return
    profile = Profile(path)
    total = sum(ns for _, ns in wanted.values())
    found = re.search(r"Total samples = (\S+?)(?: \(|$)", pprof(path, "-top", "-unit=ns"), re.M)
    assert found[1] == f"{total}ns" if total else found[1] == "0", (found[1], total)
    if trace.path.endswith("hostile"):
        assert len(profile.sums()) == len(traces.HOSTILE)
        return
    assert profile.sums() == wanted, (profile.sums(), wanted)
    if trace.path.endswith("deep"):
        assert max(len(names) for _, _, names in profile.paths) == 514
        assert sum(calls for calls, _, names in profile.paths if DEEPER in names) == traces.DEEP - 512


def check_recorded(trace, directory):
    profile = Profile(trace.export("pprof", os.path.join(directory, FILE)))
    assert profile.sums() == expected(trace)
    for name, line in traces.PROGRAM_LINES.items():
        assert profile.lines[name][0].endswith("lines.c") and profile.lines[name][1] == line, profile.lines
    assert re.search(r"/lines [0-9a-f]{40} \[FN\]\[FL\]\[LN\]$", profile.mappings[0]), profile.mappings


traces.need("go")
traces.check_all(check, check_recorded)
