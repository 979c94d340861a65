#!/usr/bin/env python3
"""view.py VIEW.C COMPILER...: what `spoor view` answers, and the file that --html writes."""
import base64
import json
import os
import random
import re
import shutil
import stat
import struct
import subprocess
import sys
import time
import unittest

from viewing import DENSITY_MAGIC, LONG_NAME, PATIENCE, ROUNDS, SPOOR, COMPILER, ViewTest, boxes_of, read, run

WEB = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../src/page/web")


class Answers(ViewTest):
    # ---- answers ----

    def test_functions_of_random_ranges(self):
        random.seed(36)
        duration = self.server.json("/api/trace")["duration_ns"]
        tids = {t["stream"]: t["tid"] for t in self.server.json("/api/trace")["threads"]}
        self.assertEqual(self.server.get("/api/functions"), run("report", "--json", self.trace).stdout)
        for i in range(100):
            since, until = sorted(random.randrange(duration + 2) for _ in range(2))
            query, options = f"since={since}&until={until}", [f"--since={since}", f"--until={until}"]
            if i % 3 == 0:
                stream = random.choice(list(tids))
                query, options = f"{query}&streams={stream}", [*options, f"--tid={tids[stream]}"]
            shown = run("report", "--json", *options, self.trace)
            self.assertEqual(self.server.get(f"/api/functions?{query}"), shown.stdout, query)

    def test_graph_and_info(self):
        self.assertEqual(self.server.get("/api/info"), run("info", "--json", self.trace).stdout)
        self.assertEqual(self.server.get("/api/graph"), run("graph", "--json", self.trace).stdout)
        duration = self.server.json("/api/trace")["duration_ns"]
        since, until = duration // 3, duration // 2
        shown = run("graph", "--json", f"--since={since}", f"--until={until}", self.trace).stdout
        self.assertEqual(self.server.get(f"/api/graph?since={since}&until={until}"), shown)

    def test_graph_without_small_paths(self):
        def walk(node, full):
            """Each node is that of the whole graph, but one child of it may sum up the smallest ones."""
            rest = [child for child in node["children"] if child.get("rest")]
            large = [child for child in node["children"] if not child.get("rest")]
            self.assertLessEqual(len(rest), 1)
            left = full["children"][len(large):]
            for key in ("calls", "total_ns", "self_ns"):
                self.assertEqual(sum(one[key] for one in rest), sum(one[key] for one in left))
            self.assertTrue(all(one["total_ns"] < least for one in left))
            for child, same in zip(large, full["children"]):
                self.assertEqual([child[key] for key in ("name", "module", "calls", "total_ns", "self_ns")],
                                 [same[key] for key in ("name", "module", "calls", "total_ns", "self_ns")])
                self.assertEqual(names[child["function"]], child["name"])
                walk(child, same)
        names = {number: name for number, name, *_ in self.server.json("/api/names")["functions"]}
        whole = self.server.json("/api/graph")
        for share in (0.3, 0.02, 0.001, 0):
            least = int(share * whole["total_ns"])
            walk(self.server.json(f"/api/graph?least={share}"), whole)

    def test_boxes_calls_and_next(self):
        trace = self.server.json("/api/trace")
        tids = {t["stream"]: t["tid"] for t in trace["threads"]}
        names = {number: name for number, name, *_ in self.server.json("/api/names")["functions"]}
        numbers = {name: number for number, name in names.items()}
        calls = self.calls_of_replay()
        self.assertEqual(len(calls), sum(row["calls"] for row in self.server.json("/api/functions")))
        boxes = boxes_of(self.server.get("/api/spans?columns=20000&exact=1"))
        self.assertEqual(sum(box[5] for box in boxes), len(calls))
        single = [box for box in boxes if not box[6] & 1]
        self.assertGreater(len(single), 10)
        for stream, depth, start, end, function, _, _ in single:
            name, duration = calls[tids[stream], depth, int(start)]
            self.assertEqual((name, duration), (names[function], end - start))
        for function in ("leaf", "fib", "main"):
            self.check_calls(function, numbers[function], calls, tids)

    def check_calls(self, name, number, calls, tids):
        own = {key: duration for key, (function, duration) in calls.items() if function == name}
        listed, more = [], True
        while more:
            answer = self.server.json(f"/api/calls?function={number}&limit=1000&after={len(listed)}")
            listed, more = listed + answer["calls"], answer["more"]
        self.assertEqual({(tids[c["stream"]], c["depth"], c["t_ns"]): c["duration_ns"] for c in listed}, own)
        self.assertEqual([c["duration_ns"] for c in listed], sorted(own.values(), reverse=True))
        bars = self.server.json(f"/api/histogram?function={number}")
        self.assertLessEqual(len(bars), 100)
        for bar in bars:
            within = sum(bar["from_ns"] <= duration < bar["to_ns"] for duration in own.values())
            self.assertEqual(within, bar["calls"], bar)
        self.assertEqual(sum(bar["calls"] for bar in bars), len(own))
        bar = bars[len(bars) // 2]
        part = self.server.json(f"/api/calls?function={number}&order=time&limit=10000"
                                f"&from_ns={bar['from_ns']}&to_ns={bar['to_ns']}")["calls"]
        self.assertEqual(len(part), bar["calls"])
        starts = sorted(start for _, _, start in own)
        middle = starts[len(starts) // 2]
        for direction, wanted in ((1, [s for s in starts if s > middle][:1]),
                                  (-1, [s for s in starts if s < middle][-1:])):
            found = self.server.json(f"/api/next?function={number}&t={middle}&direction={direction}")
            self.assertEqual([found["t_ns"]] if found else [], wanted)
        frames = boxes_of(self.server.get(f"/api/frames?function={number}&columns=20000"))
        self.assertEqual(sum(box[5] for box in frames), len(own))

    def test_density_and_marks(self):
        trace = self.server.json("/api/trace")
        data = self.server.get("/api/density?columns=50")
        magic, columns, streams, _ = struct.unpack_from("<IIII", data)
        counts = struct.unpack_from(f"<{columns * streams}I", data, 16)
        self.assertEqual((magic, columns, streams), (DENSITY_MAGIC, 50, len(trace["threads"])))
        for thread in trace["threads"]:
            row = counts[thread["stream"] * 50:][:50]
            self.assertAlmostEqual(sum(row), thread["events"], delta=50)
        for mark in self.server.json("/api/marks"):
            self.assertLessEqual({"stream", "t_ns", "length_ns", "kind", "text"}, mark.keys())

    def test_comparisons(self):
        other = self.record("older", ROUNDS // 2)
        server = self.serve(self.trace, other)
        self.assertEqual(server.json("/api/trace")["other"], "older")
        self.assertEqual(server.get("/api/diff?other=1"), run("diff", "--json", other, self.trace).stdout)
        self.assertEqual(server.get("/api/diff?other=1&paths=1"), run("diff", "--json", "--by-path", other, self.trace).stdout)
        self.assertEqual(self.server.ask("/api/diff?other=1")[0], 400)
        starts = sorted(start for _, _, start in self.calls_of_replay())
        marks = [starts[len(starts) * i // 4] for i in range(4)]
        sides = [{row["function"]: row for row in self.server.json(f"/api/functions?since={since}&until={until}")}
                 for since, until in (marks[:2], marks[2:])]
        rows = self.server.json("/api/diff?since=%d&until=%d&since2=%d&until2=%d" % tuple(marks))
        self.assertEqual({row["function"] for row in rows}, sides[0].keys() | sides[1].keys())
        for row in rows:
            for key in ("calls", "total_ns", "self_ns", "p50_ns", "p99_ns"):
                self.assertEqual(row[key], [side.get(row["function"], {key: 0})[key] for side in sides])
        same = self.server.json("/api/diff")
        self.assertTrue(all(row["calls"][0] == row["calls"][1] for row in same))

    def test_sources(self):
        names = {name: number for number, name, *_ in self.server.json("/api/names")["functions"]}
        answer = self.server.json(f"/api/source?function={names['leaf']}")
        self.assertEqual((answer["file"], answer["lines"]), (None, []))
        source = os.path.join(self.folder, "with_lines.c")
        with open(source, "w", encoding="utf-8") as out:
            out.write("static volatile int n;\n\n__attribute__((noinline)) void marked(void) { n++; }\n"
                      "int main(void) {\n    marked();\n}\n")
        program, trace = source[:-2], source + ".trace"
        subprocess.run([*COMPILER, "-g", "-O1", source, "-o", program], check=True)
        subprocess.run([SPOOR, "record", "-q", "-o", trace, "--", program], check=True)
        server = self.serve(trace)
        names = {name: number for number, name, *_ in server.json("/api/names")["functions"]}
        answer = server.json(f"/api/source?function={names['marked']}")
        self.assertEqual((answer["file"], answer["line"], answer["same_build"]), (source, 3, True))
        self.assertEqual(answer["judged_by"], "build-id and time")
        self.assertIn("void marked(void)", answer["lines"][3 - answer["first"]])
        sites = json.loads(run("explain", "--json", program).stdout)
        self.assertEqual(answer["sites"], next(one for one in sites if one["function"].startswith("marked")))
        os.utime(source)
        self.assertIs(server.json(f"/api/source?function={names['marked']}")["same_build"], False)
        lines = {name: (file, line) for _, name, _, file, line in server.json("/api/names?lines=1")["functions"]}
        self.assertEqual(lines["marked"], (source, 3))
        self.assertIn(lines["main"], ((source, 4), (source, 5)))  # compilers give its first address to both

    @unittest.skipUnless(shutil.which("clang"), "clang writes the MD5")
    def test_sources_by_md5(self):
        """A file that was only touched is that of the build; one whose bytes changed is not, whatever its time."""
        source = os.path.join(self.folder, "with_md5.c")
        # 119 bytes and more: the MD5 has a block of its own for the length
        text = f"/*{'x' * 40}*/\n__attribute__((noinline)) int marked(int n) {{ return n + 1; }}\nint main(void) {{ return marked(-1); }}\n"
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        for options in (["-gdwarf-5"], ["-gdwarf-5", "-gz"], ["-gdwarf-5", "-gdwarf64"]):
            program, trace = source[:-2], source + ".trace"
            subprocess.run(["clang", *options, "-O1", source, "-o", program], check=True)
            subprocess.run([SPOOR, "record", "-q", "-o", trace, "--", program], check=True)
            server = self.serve(trace)
            number = next(number for number, name, *_ in server.json("/api/names")["functions"] if name == "marked")
            def judged():
                answer = server.json(f"/api/source?function={number}")
                return answer["same_build"], answer["judged_by"]
            os.utime(source)
            self.assertEqual(judged(), (True, "md5"), options)
            with open(source, "w", encoding="utf-8") as out:
                out.write(text.replace("n + 1", "n + 2"))
            os.utime(source, (0, 0))
            self.assertEqual(judged(), (False, "md5"), options)
            with open(source, "w", encoding="utf-8") as out:
                out.write(text)

    def test_names_of_functions_with_calls(self):
        """Once the summary is complete; before, all functions that were instrumented are there."""
        called = sorted(row["function"] for row in json.loads(run("report", "--json", self.trace).stdout))
        instrumented = json.loads(run("info", "--json", self.trace).stdout)["functions"]["instrumented"]
        self.assertLess(len(called), instrumented)  # some have no calls
        names, deadline = [], time.monotonic() + PATIENCE
        while names != called and time.monotonic() < deadline:
            names = sorted(name for _, name, *_ in self.server.json("/api/names")["functions"])
        self.assertEqual(names, called)

    def test_hostile_names(self):
        rows = {row["function"] for row in self.server.json("/api/functions")}
        self.assertGreater(max(map(len, rows)), len(LONG_NAME) // 3)  # spoor cuts such names
        self.assertTrue(any("<script>" in name and '"' in name for name in rows))
        self.assertTrue(any("\ufffd" in name for name in rows))
        names = {name for _, name, *_ in self.server.json("/api/names")["functions"]}
        self.assertLessEqual(rows, names)

    # ---- one file ----

    def write_html(self, *options, trace=None, note="with each call"):
        path = os.path.join(self.folder, "page.html")
        result = run("view", f"--html={path}", *options, trace or self.trace, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertIn(note, result.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertFalse(os.path.exists(path + ".part"))
        text = read(path).decode()
        parts = {path: (kind, body) for kind, path, body in re.findall(
            r'<script type="([^"]*)" data-path="([^"]*)">\n(.*?)\n</script>', text, re.S)}
        return text, {path: base64.b64decode(body, validate=True) if kind == "text/plain" else json.loads(body)
                      for path, (kind, body) in parts.items()}

    def test_html(self):
        text, parts = self.write_html()
        first = text.partition("\n")[0]
        self.assertRegex(first, r"^<!-- .*\btrace\b.*from 0 to \d+ ns, all threads; with command lines.*without values.*-->$")
        self.assertEqual(text.count("-->"), 1 + text.count("<!--") - 1)
        self.assertLess(len(text), 20e6)
        self.assertEqual(parts["/api/functions"], self.server.json("/api/functions?numbers=1"))
        self.assertEqual(parts["/api/marks"], self.server.json("/api/marks"))
        self.assertEqual(parts["/api/graph"], self.server.json("/api/graph?least=0.0005"))
        trace = self.server.json("/api/trace")
        self.assertEqual(parts["/api/trace"], {**trace, "path": None})
        called = {row["function"] for row in parts["/api/functions"]}
        self.assertEqual({name for _, name, *_ in parts["/api/names"]["functions"]}, called)
        for number, *_ in parts["/api/names"]["functions"]:
            self.assertEqual(parts["/api/histogram"][str(number)], self.server.json(f"/api/histogram?function={number}"))
            self.assertEqual(parts["/api/calls"][str(number)], self.server.json(f"/api/calls?function={number}&limit=20"))
        calls = self.calls_of_replay()
        boxes = boxes_of(parts["/api/spans"])
        self.assertEqual(sum(box[5] for box in boxes), len(calls))
        tids = {t["stream"]: t["tid"] for t in trace["threads"]}
        names = {number: name for number, name, *_ in parts["/api/names"]["functions"]}
        for stream, depth, start, end, function, _, flags in boxes:
            if not flags & 1:
                self.assertEqual(calls[tids[stream], depth, int(start)], (names[function], end - start))
        script = re.search(r'<script type="module" nonce="[0-9a-f]+">\n(.*?)</script>', text, re.S)[1]
        self.assertNotRegex(script, r"(?m)^(import|export) ")
        declared = re.findall(r"(?m)^(?:async )?(?:function\*?|const|let|class) +([\w$]+)", script)
        self.assertEqual(sorted(declared), sorted(set(declared)))
        self.assertEqual(text.count("</script>"), len(parts) + 1)  # names end no element
        self.assertNotRegex(text, r"(?:src|href)=\"(?!data:)")

    def test_html_of_many_calls(self):
        """From threshold_ns on, each call is a box; the page is told the same number as the user.

        A box is as long as from start to end, and a duration is without pauses: no thread may wait for a full ring."""
        trace = self.record("many", 4000, "--buffer=64M")
        _, parts = self.write_html(trace=trace, note="are drawn together")
        embedded, boxes = parts["embedded"], boxes_of(parts["/api/spans"])
        threshold = embedded["threshold_ns"]
        self.assertGreater(threshold, 0)
        self.assertLess(threshold, embedded["until_ns"])
        source = read(os.path.join(WEB, "source.js")).decode().partition("function embeddedSource(")[2]
        read_by_page = set(re.findall(r"description\.(\w+)", source)) - {"textContent"}
        self.assertIn("threshold_ns", read_by_page)
        self.assertLessEqual(read_by_page, set(embedded))
        self.assertTrue(any(flags & 1 for *_, flags in boxes))
        long = sum(not flags & 1 and end - start >= threshold for _, _, start, end, *_, flags in boxes)
        rows = json.loads(run("report", "--json", f"--threshold={threshold}ns", trace).stdout)
        self.assertEqual(long, sum(row["calls"] for row in rows))

    def test_html_of_a_part(self):
        trace = self.server.json("/api/trace")
        thread = trace["threads"][1]
        starts = sorted(start for tid, _, start in self.calls_of_replay() if tid == thread["tid"])
        since, until = starts[len(starts) // 4], starts[len(starts) // 2]
        text, parts = self.write_html(f"--since={since}ns", f"--until={until}ns", f"--tid={thread['tid']}")
        query = f"since={since}&until={until}&streams={thread['stream']}"
        self.assertIn(f"from {since} to {until} ns, chosen threads", text.partition("\n")[0])
        self.assertEqual(parts["/api/functions"], self.server.json(f"/api/functions?{query}&numbers=1"))
        self.assertEqual(parts["/api/graph"], self.server.json(f"/api/graph?{query}&least=0.0005"))
        self.assertEqual([t["stream"] for t in parts["/api/trace"]["threads"]], [thread["stream"]])
        self.assertEqual({box[0] for box in boxes_of(parts["/api/spans"])}, {thread["stream"]})
        self.assertEqual((parts["embedded"]["since_ns"], parts["embedded"]["until_ns"]), (since, until))

    def test_html_of_percents(self):
        duration = self.server.json("/api/trace")["duration_ns"]
        text, parts = self.write_html("--since=25%", "--until=75%")
        since, until = duration // 4, duration * 3 // 4
        self.assertIn(f"from {since} to {until} ns", text.partition("\n")[0])
        self.assertEqual((parts["embedded"]["since_ns"], parts["embedded"]["until_ns"]), (since, until))

    def test_html_refusals(self):
        path = os.path.join(self.folder, "refused.html")
        for options, message in ((["--since=1h"], "nothing is shown"), (["--tid=1"], "thread")):
            result = run("view", f"--html={path}", *options, self.trace, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, rf"^spoor: .*{message}.*\n$")
            self.assertFalse(os.path.exists(path))
        result = run("view", "--html=/nowhere/x.html", self.trace, text=True)
        self.assertEqual(result.returncode, 1)


unittest.main(argv=sys.argv[:1])
