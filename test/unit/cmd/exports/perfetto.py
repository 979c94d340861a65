"""What export --format=perfetto writes, decoded by protoc and counted anew: slices, marks and tracks.

Perfetto's own reader cannot be had from Debian or npm. The schema is perfetto.proto, beside this file.
"""
import collections
import os

import traces

HOW = {"tail call": "tail"}
OPEN, MARK = "open", "mark"

Slice = collections.namedtuple("Slice", "track name start end annotations")


class Reader:
    """Reads packets as Perfetto's importer does."""

    def __init__(self, trace):
        self.tracks, self.names, self.categories, self.keys = {}, {}, {}, {}
        self.open, self.slices, self.marks = collections.defaultdict(list), [], []
        self.clock, self.incremental = None, None
        for packet in trace.packet:
            self.read(packet)
        assert not any(self.open.values())

    def read(self, packet):
        assert packet.trusted_packet_sequence_id == 1
        if self.clock is None:
            clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
            assert packet.sequence_flags == 1 and clocks[64].is_incremental and not clocks[6].is_incremental
            assert packet.trace_packet_defaults.timestamp_clock_id == 64
            self.clock = clocks[64].timestamp - clocks[6].timestamp
        else:
            assert packet.sequence_flags == 2
        for index, entries in ((self.names, packet.interned_data.event_names),
                               (self.categories, packet.interned_data.event_categories),
                               (self.keys, packet.interned_data.debug_annotation_names)):
            for entry in entries:
                assert entry.iid and index.setdefault(entry.iid, entry.name) == entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in self.tracks
            assert not track.parent_uuid or track.parent_uuid in self.tracks
            self.tracks[track.uuid] = track
        if packet.HasField("track_event"):
            self.event(packet, packet.track_event)

    def event(self, packet, event):
        assert event.track_uuid in self.tracks
        if packet.timestamp_clock_id == 6:
            time = packet.timestamp
        else:
            self.clock += packet.timestamp
            time = self.clock
        values = {self.keys[a.name_iid]: a.string_value or a.uint_value or a.bool_value
                  for a in event.debug_annotations}
        if event.type == event.TYPE_SLICE_BEGIN:
            name = self.names[event.name_iid] if event.name_iid else None
            assert not name or [*map(self.categories.__getitem__, event.category_iids)]
            self.open[event.track_uuid].append((name or MARK + event.name, time, values))
        elif event.type == event.TYPE_SLICE_END:
            name, start, more = self.open[event.track_uuid].pop()
            assert start <= time
            self.slices.append(Slice(self.tracks[event.track_uuid], name, start, time, {**more, **values}))
        else:
            self.marks.append((time, event.name, values, self.tracks[event.track_uuid]))

    def calls(self):
        for s in self.slices:
            if not s.name.startswith(MARK):
                paused = s.annotations.get("paused_ns", 0)
                end = s.annotations.get("end", "returned")
                yield traces.Call(s.name, s.start, s.end - s.start - paused, paused, HOW.get(end, end),
                                  "before" in s.annotations)

    def spans(self):
        return sorted((s.end, s.end - s.start) for s in self.slices if s.name.startswith(MARK))


def read(path):
    with open(path, "rb") as file:
        return Reader(schema.Whole.FromString(file.read()))


def check(trace, directory):
    path = trace.export("perfetto", os.path.join(directory, "out"))
    if os.path.getsize(path) < 300000:
        traces.golden(trace, "perfetto", traces.decode("perfetto", path))
    reader = read(path)
    assert sorted(reader.calls()) == trace.calls()
    lines = trace.lines()
    lost = sorted((o["t_ns"], o["count"]) for o in lines if o["kind"] == "lost")
    assert sorted((time, values["count"]) for time, name, values, _ in reader.marks if name == "events lost") == lost
    pauses = [(o["t_ns"], o["paused_ns"]) for o in lines if o["kind"] == "pause"]
    pauses += [(o["t_ns"] + o["duration_ns"], o["duration_ns"]) for o in lines if o["kind"] == "paused"]
    assert reader.spans() == sorted(pauses), (reader.spans(), pauses)
    changes = [o["t_ns"] for o in lines if o["kind"] in ("filter", "left")]
    assert sorted(time for time, name, _, _ in reader.marks if name != "events lost") == changes
    threads = {(s.track.thread.tid, s.track.thread.pid) for s in reader.slices if s.track.HasField("thread")}
    assert {tid for tid, _ in threads} <= {o["tid"] for o in lines}


def check_recorded(trace, directory):
    reader = read(trace.export("perfetto", os.path.join(directory, "out")))
    assert sorted(reader.calls()) == trace.calls()
    report = trace.report()
    sums = collections.Counter(call.function for call in reader.calls())
    assert sums == collections.Counter({name: row["calls"] + row["before"] for name, row in report.items()})
    names = {t.thread.thread_name for t in reader.tracks.values() if t.HasField("thread")}
    assert names == {"lines"} and "lines" in {t.process.process_name for t in reader.tracks.values()}


with traces.schema("perfetto") as schema:
    traces.check_all(check, check_recorded)
