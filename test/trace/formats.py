#!/usr/bin/env python3
"""What formats record of containers is what the program has in them, with and without optimisation.

    formats.py SPOOR COMPILER SOURCE
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SPOOR, COMPILER, SOURCE = sys.argv[1:4]
FUNCTIONS = "numbers", "items", "maybe", "maybe_plain", "owned", "closed", "shared", "map", "set", "held", "made"


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        for level in "-O0", "-O2":
            subprocess.run([COMPILER, "-std=c++17", "-g", level, SOURCE, "-o", cls.path / level], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def record(self, *options, level="-O0", status=0):
        """Returns the program's output, and spoor's messages."""
        names = [word for f in FUNCTIONS for word in ("-F", f + "(*")]
        done = subprocess.run([SPOOR, "record", "-a", *names, *options, "-o", self.path / "t", self.path / level],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr

    def events(self):
        shown = subprocess.run([SPOOR, "replay", "--json", self.path / "t"], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def values(self, name):
        """Of the argument v in all calls of NAME."""
        return [e["args"][0]["value"] for e in self.events()
                if e.get("kind") == "entry" and e["function"].startswith(name + "(")]

    def file(self, text):
        path = self.path / "formats"
        path.write_text(text)
        return f"--formats={path}"

    def test_built_in(self):
        for level in "-O0", "-O2":
            printed = [json.loads(line) for line in self.record(level=level)[0].splitlines()]
            self.assertEqual(len(printed), 18)
            shown = []
            for e in self.events():
                name = (e.get("function") or "").split("(")[0].split()[-1:]
                if e.get("kind") == "entry" and name != ["made"]:
                    shown.append({name[0]: e["args"][0]["value"]})
                elif e.get("kind") == "exit" and name == ["made"]:
                    shown.append({"made": e["ret"]["value"]})
            self.assertEqual(shown, printed, level)

    def test_views_know_the_values(self):
        self.record()
        kept = subprocess.run([SPOOR, "replay", "--json", "--where", "numbers/v.size > 2/", self.path / "t"],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(sum("numbers(" in line and '"entry"' in line for line in kept.splitlines()), 1)
        rows = subprocess.run([SPOOR, "report", "--json", "--group", "v.size", "-F", "numbers(*", self.path / "t"],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(sorted((f["group"]["value"], f["calls"]) for f in json.loads(rows)), [(0, 2), (3, 1)])

    def test_specs_know_the_values(self):
        """As in C, what a condition is 0 for is not known: stale memory is no value."""
        for level in "-O0", "-O2":
            self.recorded("-A", "numbers(*@v.size/x,v.first", "-A", "maybe(*@v.value", "-A", "held(*@v.within.shorts.size",
                          level=level)
            shown = [[(a["name"], a["value"], a.get("missing")) for a in e["args"]] for e in self.events() if e.get("args")]
            self.assertEqual(shown, [
                [("v.size", "0x3", None), ("v.first", 7, None)], [("v.size", "0x0", None), ("v.first", None, "unreadable")],
                [("v.size", "0x0", None), ("v.first", None, "unreadable")], [("v.value", 5, None)],
                [("v.value", None, "unreadable")], [("v.within.shorts.size", 2, None)], [("v.within.shorts.size", 1, None)]],
                level)
            for condition, kept in ("numbers(*/v.size > 2/", 1), ("numbers(*/v.first == 7/", 1), \
                    ("numbers(*/v.first != 7/", 0), ("held(*/v.within.shorts.size == 1 && v.id < 0/", 1), \
                    ("held(*/v.maybe.value/", 1):
                self.recorded("--where", condition, level=level)
                self.assertEqual(sum(e["kind"] == "entry" for e in self.events()), kept, (level, condition))
            errors = self.recorded("-A", "numbers(*@v.length", level=level, status=125)
            self.assertIn("v.^length: ", errors)

    def test_arguments_behind_many(self):
        self.recorded("-A", "crowded(*", "-A", "named(*", level="-O0")
        many, named = (e["args"] for e in self.events() if e.get("args"))
        self.assertEqual([a["name"] for a in many], ["a", "b", "c", "d", "e", "n"])
        self.assertEqual((many[0]["value"], many[-1]["value"]),
                         ({"shorts": {"size": 2, "first": 6}, "map": {"size": 0}, "longs": {"size": 1, "first": 8}}, 77))
        self.assertTrue(any(a.get("cut") for a in many), many)
        self.assertEqual([a["value"] for a in named[1:]], ["a", "b", "c", "d"])
        self.assertEqual((named[0]["value"]["a"]["size"], named[0]["cut"]), (1, True))

    def test_as_many_values_as_have_room(self):
        """They are the first ones of the format. Text and JSON tell that there are more."""
        for level in "-O0", "-O2":
            formats = self.file("texts\n" + "".join(f"    {name} = {name}\n" for name in reversed("abcdefghijkl")))
            self.recorded("-A", "wide(*", formats, level=level)
            v, n = next(e["args"] for e in self.events() if e.get("args"))
            self.assertEqual((v["cut"], n["value"]), (True, 78), level)
            shown = "".join(v["value"])
            self.assertEqual((shown, "".join(v["value"].values())), ("lkjihgfedcba"[:len(shown)], shown.upper()), level)
            self.assertTrue(4 <= len(shown) < 12, shown)
            text = subprocess.run([SPOOR, "replay", self.path / "t"], capture_output=True, text=True, check=True).stdout
            self.assertIn(f'{shown[-1]}="{shown[-1].upper()}", ...}}', text, level)

    def recorded(self, *options, level, status=0):
        done = subprocess.run([SPOOR, "record", *options, "-o", self.path / "t", self.path / level],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_none(self):
        self.record("--formats=none")
        self.assertNotIn("size", self.values("numbers")[0])

    def test_own(self):
        self.record(self.file("# mine\nplain\n    second = y\n\nstd::vector<int*>\n    n = _M_impl._M_finish - "
                              "_M_impl._M_start\n    last = _M_impl._M_finish[-1] if n\n"))
        self.assertEqual(self.values("numbers"), [{"n": 3, "last": 9}, {"n": 0, "last": None}, {"n": 0, "last": None}])
        self.assertEqual(self.values("set"), [{"size": 3}])

    def test_one_that_fits_no_type_is_told(self):
        _, errors = self.record(self.file("std::vector<int*>\n    n = _M_impl.finish\n"))
        self.assertIn("formats:1: std::vector<int", errors)
        self.assertIn("n = _M_impl.^finish: ", errors)
        self.assertEqual(self.values("numbers")[0], {"size": 3, "first": 7})

    def test_errors(self):
        for text, wanted in (("x = 1\n", ":1: no values follow this pattern"),
                             ("  x = y\n", ":1: a value needs a line before it"),
                             ("a\n\n  x = b +\n", ':3: x = b ^+: only "-" and "if" may follow'),
                             ("a\n  x = b if y\n", ':2: x = b if ^y: behind "if" is'),
                             ("a\n  x = %rdi\n", ":2: x = ^%rdi: only members"),
                             ("a\n  x = &b\n", ":2: x = ^&b: an address is no value"),
                             ("a\n  x = b\n  x = c\n", ":3: ^x = c: there is a value of this name")):
            _, errors = self.record(self.file(text), status=125)
            self.assertIn(str(self.path / "formats") + wanted, errors)
        _, errors = self.record(f"--formats={self.path / 'missing'}", status=125)
        self.assertIn("missing: No such file", errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
