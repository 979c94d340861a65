#!/usr/bin/env python3
"""Hard values through the views and back: replay, report, JSON, CSV, chrome, parquet, firefox, a whole trace, the page's
server; ctf and perfetto by babeltrace2 and protoc.

    values_views.py SPOOR COMPILER SOURCE EXPORTS

EXPORTS is the folder with perfetto.proto. Exports hide values unless --values is given. report --group makes rows.
"""
import csv
import io
import json
import math
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

SPOOR, COMPILER, SOURCE, EXPORTS = sys.argv[1:5]
sys.path.insert(0, str(Path(EXPORTS).parent))
import parquet_reader  # noqa: E402
WIDEST, LOWEST = str(2 ** 64 - 1), str(-2 ** 63)
GONE = "gone.isra.0"  # a result that the compiler has taken away
HTML = "<b>'\"&,\n</b>"
BYTES = {"hex": "fffe22"}
FULL = "0123456789abcdef" * 4  # as long as --strings; the second one is longer, which is not read
# What the single argument of each call is, in JSON; ret is the same of all but text() and work().
WANTED = [("widest", WIDEST), ("lowest", LOWEST), ("real", "nan"), ("real", "inf"), ("real", "-inf"),
          ("real", -0.1), ("real", -0.0), ("text", BYTES), ("text", HTML), ("text", ""), ("text", FULL), ("text", FULL),
          ("wide", "w\u00efde \u20ac \U0001f600"), ("wide", "")] + [
    ("work", {"id": 7, "kind": "PEN"} if i % 3 else {"id": 2000, "kind": "BOOK"}) for i in range(9)]


def same(value):
    """NaN and infinities are strings, whatever their case."""
    return value.lower() if isinstance(value, str) and value.lower().strip("-+") in ("nan", "inf") else value


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        program = cls.path / "program"
        subprocess.run([COMPILER, "-g", "-O1", SOURCE, "-o", program], check=True)
        cls.trace = cls.path / "t.spoor"
        subprocess.run([SPOOR, "record", "-q", "-a", "-o", cls.trace, program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def spoor(self, *args, status=0):
        done = subprocess.run([SPOOR, args[0], self.trace, *args[1:]], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if not status else done.stderr

    def check(self, calls):
        """CALLS: function, value of its argument, in the order of their ends."""
        found = [(f, same(v)) for f, v in calls if f not in ("main", "nothing", GONE)]
        self.assertEqual(found, WANTED)
        self.assertEqual([math.copysign(1, v) for _, v in found if v == 0 and isinstance(v, (int, float))], [-1])

    def test_replay_and_json(self):
        for lines in self.spoor("replay", "--json"), self.spoor("export", "--format=json", "--values"):
            entries = [json.loads(line) for line in lines.splitlines()]
            begun = [e for e in entries if e["kind"] == "entry" and e.get("args")]
            self.check([(e["function"], e["args"][0]["value"]) for e in begun])
            results = [same(e["ret"]["value"]) for e in entries if e["kind"] == "exit" and "ret" in e]
            self.assertEqual(results[:7], [v for _, v in WANTED[:7]])
            texts = [e["args"][0] for e in begun if e["function"] == "text"]
            self.assertEqual([t.get("cut") for t in texts], [None, None, None, None, True])
            self.assertEqual([e["ret"] for e in entries if e["kind"] == "exit" and e["function"] == GONE],
                             [{"type": "int", "value": None, "missing": "gone"}])
        shown = self.spoor("replay")
        for part in WIDEST, LOWEST, r'"\377\376\""', f"{GONE}(n=5) = <gone>;", "nan", "-inf", r"</b>", "real(x=-0.0) = -0.0;", 'text(s="")', f'(s="{FULL}")', f'(s="{FULL}"...)', \
                '(s="w\u00efde \u20ac \U0001f600")':
            self.assertIn(part, shown)

    def test_damage(self):
        """Of a damaged block of types, captures or values one line tells; all calls are there."""
        whole = self.trace.read_bytes()
        wanted = [json.loads(line)["kind"] for line in self.spoor("replay", "--json").splitlines()]
        kinds, at = set(), 32
        while whole[at:at + 4] == b"spBK":
            kind, _, stored = struct.unpack_from("<HHI", whole, at + 4)
            middle = at + 72 + stored // 2
            if kind in (15, 17, 18):
                damaged = self.path / "damaged"
                damaged.write_bytes(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1:])
                done = subprocess.run([SPOOR, "replay", "--json", damaged], capture_output=True, text=True, check=False)
                self.assertRegex(done.stderr, r"\Aspoor: .*/damaged: is damaged: [^\n]+ are left out\n\Z")
                self.assertEqual([json.loads(line)["kind"] for line in done.stdout.splitlines()], wanted)
                kinds.add(kind)
            at += 72 + stored
        self.assertEqual(kinds, {15, 17, 18})

    def test_csv(self):
        rows = [*csv.DictReader(io.StringIO(self.spoor("export", "--format=csv", "--values")))]
        begun = [r for r in rows if r["args"] not in ("", "[]")]
        self.check([(r["function"], json.loads(r["args"])[0]["value"]) for r in begun])
        self.assertEqual([json.loads(r["ret"])["value"] for r in rows if r["function"] == "widest"], [WIDEST])
        self.assertEqual([json.loads(r["ret"])["missing"] for r in rows if r["function"] == GONE], ["gone"])

    def test_chrome(self):
        events = json.loads(self.spoor("export", "--format=chrome", "--values"))["traceEvents"]
        calls = [e for e in events if e["ph"] == "X" and "arguments" in e.get("args", {})]
        calls.sort(key=lambda e: e["ts"])
        self.check([(e["name"], [*e["args"]["arguments"].values()][0]) for e in calls])
        self.assertEqual(calls[0]["args"]["result"], WIDEST)
        self.assertEqual([e["args"] for e in calls if e["name"] == GONE], [{"arguments": {"n": 5}, "result": None}])

    def test_ctf(self):
        if not shutil.which("babeltrace2"):
            self.skipTest("no babeltrace2")
        out = self.path / "ctf"
        self.spoor("export", "--format=ctf", "--values", "-o", out)
        lines = subprocess.run(["babeltrace2", out], capture_output=True, text=True, check=True).stdout
        self.assertIn(f'args = "n={WIDEST}"', lines)
        self.assertIn(f'ret = "{LOWEST}"', lines)
        for part in "x=nan", "x=-inf", "x=-0.0\"", "</b>", "kind=BOOK", FULL, 'ret = "<gone>"', r"\\377\\376", "w\u00efde \u20ac \U0001f600":
            self.assertIn(part, lines)
        # An empty text would show an older one: babeltrace2 does not clear it.
        without = [line for line in lines.splitlines() if '"nothing"' in line]
        self.assertEqual(len(without), 20)
        self.assertTrue(all(line.endswith('args = "-" }') or line.endswith('ret = "-" }') for line in without), without)

    def test_perfetto(self):
        if not shutil.which("protoc"):
            self.skipTest("no protoc")
        out = self.path / "perfetto"
        self.spoor("export", "--format=perfetto", "--values", "-o", out)
        subprocess.run(["protoc", f"--python_out={self.path}", f"--proto_path={EXPORTS}", f"{EXPORTS}/perfetto.proto"],
                       check=True)
        sys.path.insert(0, str(self.path))
        import perfetto_pb2  # made by protoc
        trace = perfetto_pb2.Whole()
        trace.ParseFromString(out.read_bytes())
        found = []
        for packet in trace.packet:
            for annotation in packet.track_event.debug_annotations:
                for entry in annotation.dict_entries:
                    field = next(f.name for f, _ in entry.ListFields() if f.name != "name")
                    found.append((entry.name, field, getattr(entry, field)))
                if annotation.HasField("string_value"):
                    found.append((annotation.name, "string_value", annotation.string_value))
        self.assertIn(("n", "uint_value", 2 ** 64 - 1), found)
        self.assertIn(("n", "int_value", -2 ** 63), found)
        reals = [v for n, f, v in found if n == "x" and f == "double_value"]
        self.assertTrue(math.isnan(reals[0]))
        self.assertEqual(reals[1:], [math.inf, -math.inf, -0.1, -0.0])
        self.assertEqual(math.copysign(1, reals[4]), -1)
        self.assertIn(("s", "string_value", r'"\377\376\""'), found)
        self.assertIn(("o", "string_value", "{id=2000, kind=BOOK}"), found)
        self.assertIn(("ret", "string_value", "<gone>"), found)

    def test_parquet(self):
        columns, _ = parquet_reader.read(self.bytes_of("parquet", "--values"))
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        begun = [row for row in rows if row["args"]]
        self.check([(row["function"], [*json.loads(row["args"]).values()][0]) for row in begun])
        self.assertEqual([row["ret"] for row in rows if row["function"] == "widest"], [f'"{WIDEST}"'])
        self.assertEqual([row["ret"] for row in rows if row["function"] == GONE], ["null"])
        self.assertTrue(all(row["args"] is None and row["ret"] is None for row in rows if row["function"] == "nothing"))
        self.assertEqual([*parquet_reader.read(self.bytes_of("parquet"))[0]], [*columns][:-2])

    def bytes_of(self, form, *options):
        out = self.path / ("whole-" + form)
        self.spoor("export", "--format=" + form, "-o", out, *options)
        return out.read_bytes()

    def test_firefox(self):
        """Each call with values is a marker as long as the call, and the line of replay."""
        found = []
        for thread in json.loads(self.bytes_of("firefox", "--values"))["threads"]:
            markers, names = thread["markers"], thread["stringArray"]
            self.assertEqual({len(column) for column in markers.values() if isinstance(column, list)}, {markers["length"]})
            for i in range(markers["length"]):
                if markers["data"][i]["type"] == "spoor-call":
                    length = markers["endTime"][i] - markers["startTime"][i]
                    found.append((names[markers["name"][i]], round(length * 1e6), markers["phase"][i],
                                  markers["data"][i].get("arguments"), markers["data"][i].get("result")))
        columns, _ = parquet_reader.read(self.bytes_of("parquet", "--values"))
        lengths = [(name, length) for name, length, args, ret in
                   zip(columns["function"], columns["duration_ns"], columns["args"], columns["ret"]) if args or ret]
        self.assertEqual([(name, length) for name, length, *_ in found], lengths)
        self.assertIn((1, f"n={WIDEST}", WIDEST), [one[2:] for one in found])
        printed = self.spoor("replay")
        for name, _, _, arguments, result in found:
            if name in ("widest", "lowest", "real", "text", GONE):
                self.assertIn(f"{name}({arguments})" + (f" = {result};" if result else ""), printed)

    def test_exports_hide_values(self):
        for form in "json", "csv", "chrome", "perfetto", "ctf", "firefox":
            out = self.path / ("hidden-" + form)
            self.spoor("export", "--format=" + form, "-o", out)
            files = out.iterdir() if out.is_dir() else [out]
            text = b"".join(f.read_bytes() for f in files)
            for secret in b"</b>", WIDEST.encode(), b"BOOK":
                self.assertNotIn(secret, text, form)
        for form in "folded", "callgrind", "pprof", "speedscope":
            self.assertIn("no place", self.spoor("export", "--format=" + form, "--values", status=2), form)

    def test_whole_trace(self):
        again = self.path / "again"
        self.spoor("export", "--format=spoor", "-o", again)
        shown = subprocess.run([SPOOR, "replay", "--json", again], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown, self.spoor("replay", "--json"))

    def ask(self, url, path, **query):
        address, token = url.split("/#")
        request = urllib.request.Request(f"{address}{path}?{urllib.parse.urlencode(query)}", headers={"X-Spoor-Token": token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def find(self, url, text, **query):
        """All values with TEXT, one after the other: (function's number, time, call)."""
        found, skip = [], 0
        while skip is not None:
            answer = self.ask(url, "/api/find", text=text, skip=skip, **query)
            skip = answer["skip"]
            if answer["found"]:
                found, query["until"] = [answer["found"]], answer["found"]["at_ns"] - 1
        return found + self.find(url, text, since=found[0]["at_ns"] + 1) if found else []

    def test_view(self):
        printed = {}
        for line in self.spoor("replay").splitlines():
            name, _, rest = line.partition("| ")[2].strip().partition("(")
            args, _, result = rest.partition(")")
            if name not in ("main", "text") and rest.endswith(";"):
                printed.setdefault(name, []).append((args or None, result[3:-1] or None))
        server = subprocess.Popen([SPOOR, "view", "--no-open", "--stay", self.trace], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            numbers = {name: number for number, name, *_ in self.ask(url, "/api/names")["functions"]}
            for name in "widest", "lowest", "real", "wide", "work", "nothing", GONE:
                calls = self.ask(url, "/api/calls", function=numbers[name], order="time", values=1)["calls"]
                self.assertEqual([(c["args"], c["ret"]) for c in calls], printed[name], name)
                for call in calls:
                    self.assertEqual(self.ask(url, "/api/calls", function=numbers[name], t=call["t_ns"], values=1)["calls"], [call])
            calls = self.ask(url, "/api/calls", function=numbers["work"], order="time", values=1)["calls"]
            for text in "kind=BOOK", "Kind=book":
                found = self.find(url, text)
                self.assertEqual([f["call"] for f in found], calls[::3])
                self.assertEqual([f["at_ns"] for f in found], [c["t_ns"] for c in calls[::3]])
            last = self.ask(url, "/api/find", text=WIDEST, direction=-1)["found"]
            self.assertEqual((last["at_ns"], last["call"]["args"]), (last["call"]["end_ns"], f"n={WIDEST}"))
            self.assertIsNone(self.ask(url, "/api/find", text="nowhere")["found"])
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()

    def test_conditions(self):
        for condition, name, count in (f"widest/n == {WIDEST}/", "widest", 1), ("real/x > 0/", "real", 1), \
                (f"widest/n < {WIDEST}/", "widest", 0), ("real/x == 0/", "real", 1), ('text/s == ""/', "text", 1), \
                ("real/x != x/", "real", 1), (f'text/s == "{FULL}"/', "text", 1), (f'text/s >= "{FULL[:-1]}"/', "text", 4):
            lines = [json.loads(line) for line in self.spoor("replay", "--json", "--where", condition).splitlines()]
            self.assertEqual(sum(e["kind"] == "entry" and e["function"] == name for e in lines), count, condition)
        for condition, said in (f'text/s == "{FULL}"/', "1 call"), (f'text/s == "{FULL}" || s[0] == 0/', "4 calls"), \
                ("work/o.id == 7/", None), ("nothing/n/", "10 calls"):
            done = subprocess.run([SPOOR, "report", self.trace, "--where", condition], capture_output=True, text=True, check=True)
            wanted = rf"spoor: --where leaves out {said} of which it needs values that are not known" if said else r"\Z"
            self.assertRegex(done.stderr, wanted, condition)

    def rows(self, *args, key="value"):
        return {json.dumps(r["group"].get(key)): r["calls"]
                for r in json.loads(self.spoor("report", "--json", *args)) if "group" in r}

    def test_groups(self):
        self.assertEqual(self.rows("--group", "o.kind"), {'"PEN"': 6, '"BOOK"': 3})
        self.assertEqual(self.rows("--group", "work/ret/"), {"7": 6, "2000": 3})
        self.assertEqual(self.rows("--group", "x"), {'"nan"': 1, '"inf"': 1, '"-inf"': 1, "-0.1": 1, "-0.0": 1})
        self.assertEqual(self.rows("--group", "n"), {f'"{WIDEST}"': 1, f'"{LOWEST}"': 1, "5": 1})
        self.assertEqual(self.rows("--group", "text/s/"), {json.dumps(BYTES): 1, json.dumps(HTML): 1, '""': 1, f'"{FULL}"': 1})
        self.assertEqual(self.rows("--group", "text/s/", key="text"), {json.dumps(text): 1 for text in (
            r'"\377\376\""', '"<b>\'\\"&,\\n</b>"', '""', f'"{FULL}"', f'"{FULL}"...')})
        self.assertEqual(self.rows("--group", f"{GONE}/ret/"), {"null": 1})
        self.assertEqual(self.rows("--group", f"{GONE}/ret/", key="text"), {'"<gone>"': 1})
        self.assertRegex(self.spoor("report", "--group", "ret", "-F", GONE), rf"<gone> +{GONE}\n")
        whole = json.loads(self.spoor("report", "--json"))
        grouped = json.loads(self.spoor("report", "--json", "--group", "o.kind"))
        for number in "calls", "self_ns", "total_ns":
            self.assertEqual(sum(r[number] for r in whole), sum(r[number] for r in grouped))
        text = self.spoor("report", "--group", "o.kind")
        self.assertRegex(text, r"GROUP +FUNCTION\n(.*\n)* +6 .*PEN +work\n")
        self.assertIn("was recorded of no function", self.spoor("report", "--group", "nothing", status=1))
        self.assertIn("^", self.spoor("report", "--group", "o.(", status=1))
        self.spoor("report", "--group", "o.kind", "--hide", "work", "--by-thread")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
