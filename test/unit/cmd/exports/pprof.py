"""What export --format=pprof writes, decoded by protoc and counted anew. pprof_go.py asks pprof itself."""
import collections
import gzip
import os

import traces


class Profile:
    """(calls, ns, functions from the innermost one on, label) of all samples."""

    def __init__(self, whole):
        text = whole.string_table
        assert text[0] == ""
        assert [(text[t.type], text[t.unit]) for t in whole.sample_type] == [("calls", "count"), ("time", "nanoseconds")]
        assert text[whole.default_sample_type] == "time"
        mappings = {m.id: m for m in whole.mapping}
        functions = {f.id: f for f in whole.function}
        locations = {p.id: p for p in whole.location}
        assert 0 not in {*mappings, *functions, *locations}
        assert len(mappings) == len(whole.mapping) and len(locations) == len(functions) == len(whole.function)
        assert all(p.address < mappings[p.mapping_id].memory_limit for p in whole.location if p.address)
        names = {p.id: text[functions[p.line[0].function_id].name] for p in whole.location}
        self.samples = [(*s.value, tuple(names[i] for i in s.location_id), *(text[label.str] for label in s.label))
                        for s in whole.sample]

    def sums(self):
        """{function: (calls, ns)}"""
        sums = collections.defaultdict(lambda: [0, 0])
        for calls, ns, path, *_ in self.samples:
            sums[path[0]][0] += calls
            sums[path[0]][1] += ns
        return {name: tuple(pair) for name, pair in sums.items()}


def read(path):
    with gzip.open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data)
    return Profile(schema.Whole.FromString(data))


def paths_of_folded(trace):
    """{(path, ...): ns}, without the program if there is only one."""
    folded, programs = collections.Counter(), set()
    for line in trace.view("export", "--format=folded").decode().splitlines():
        stack, ns = line.rsplit(" ", 1)
        program, *names = stack.split(";")
        programs.add(program)
        folded[tuple(names[::-1]), program] += int(ns)
    if len(programs) < 2:
        return {(path,): ns for (path, _), ns in folded.items()}
    return folded


def check(trace, directory):
    path = trace.export("pprof", os.path.join(directory, "out.pb.gz"))
    profile = read(path)
    traces.golden(trace, "pprof", traces.decode("pprof", path))
    wanted = {name: (row["calls"], row["self_ns"]) for name, row in trace.report().items() if row["calls"] or row["self_ns"]}
    assert profile.sums() == wanted, (profile.sums(), wanted)
    if not trace.path.endswith(("hostile", "names", "deep", "callers")):  # no names that folded stacks change
        found = collections.Counter()
        for _, ns, *path in profile.samples:
            found[tuple(path)] += ns
        assert +found == paths_of_folded(trace), (found, paths_of_folded(trace))


with traces.schema("pprof") as schema:
    traces.check_all(check, check)
