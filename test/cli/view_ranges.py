#!/usr/bin/env python3
"""view_ranges.py VIEW.C COMPILER...: for 100 random ranges of a trace, the page's table of functions is that of
`spoor report --json --since --until`: of traces with checkpoints, lost events, in parts, and with -D, -t and values."""
import json
import os
import random
import sys
import unittest

from viewing import ViewTest, run

ROUNDS, RANGES = 6000, 100


class Ranges(ViewTest):
    def random_range(self, dice, duration):
        """Long ones, and short ones as often."""
        length = duration >> dice.randrange(14)
        since = dice.randrange(duration + 2 - length)
        return since, since + dice.randrange(length + 1)

    def check_ranges(self, name, *options, rounds=ROUNDS):
        """Half of the ranges are asked while the summary is being made, or soon after; all others from the summary."""
        trace = self.record(name, rounds, *options)
        server = self.serve(trace, "--stay")
        shown = server.json("/api/trace")
        tids = {thread["stream"]: thread["tid"] for thread in shown["threads"]}
        dice, calls = random.Random(name), 0
        for i in range(RANGES):
            if i == RANGES // 2:
                server.wait_for_summary()
            since, until = self.random_range(dice, shown["duration_ns"])
            query, words = f"since={since}&until={until}", [f"--since={since}ns", f"--until={until}ns"]
            if i % 3 == 0:
                stream = dice.choice(list(tids))
                query, words = f"{query}&streams={stream}", [*words, f"--tid={tids[stream]}"]
            printed = run("report", "--json", *words, trace).stdout
            self.assertEqual(server.get(f"/api/functions?{query}"), printed, (name, query))
            calls += sum(row["calls"] for row in json.loads(printed))
        self.assertGreater(calls, RANGES)
        return trace, json.loads(run("info", "--json", trace).stdout)

    def test_checkpoints(self):
        _, info = self.check_ranges("plain")
        self.assertEqual(info["seekable_threads"], 2)

    def test_lost_events(self):
        _, info = self.check_ranges("lossy", "--overflow=drop", "--buffer=64K")
        self.assertGreater(info["events"]["lost"], 0)

    def test_parts(self):
        trace, info = self.check_ranges("parts", "--max-size=1M", rounds=4 * ROUNDS)
        self.assertGreater(info["parts"]["last"], 1)
        self.assertTrue(any(name.startswith("parts.") for name in os.listdir(os.path.dirname(trace))))

    def test_depth(self):
        self.check_ranges("depth", "-D", "4")

    def test_shortest_duration(self):
        self.check_ranges("shortest", "-t", "2us")

    def test_values(self):
        self.check_ranges("values", "-A", "fib@arg1/u")


unittest.main(argv=sys.argv[:1])
