"""make bench: its page and drawings show the figures that were measured; it refuses a machine that others use."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

from support import SOURCE

BENCH = os.path.join(SOURCE, "bench")
sys.path.append(BENCH)
import bench  # noqa: E402
import host  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import plot  # noqa: E402

sys.path.append(os.path.join(SOURCE, "test", "cost"))
import callgrind  # noqa: E402
import cost  # noqa: E402


def table(columns=("ns", "of the floor"), plotted=(1,)):
    made = measure.Table("Price", list(columns), "What a call takes.", plotted)
    made.row("lossless", [measure.cell([30.0, 20.0, 90.0]), 1.25, *[None] * (len(columns) - 2)], "spoor record -- calls")
    return made.json()


class Figures(unittest.TestCase):
    def test_three_digits_that_count(self):
        shown = {12345.6: "12 346", 99.96: "100", 99.94: "99.9", 9.996: "10.0", 1.254: "1.25", 0.9999: "1.00",
                 0.0123: "0.012", -0.0001: "0", 0.0: "0", 0: "0", 7: "7"}
        self.assertEqual({value: page.number(value) for value in shown}, shown)

    def test_median_and_worst(self):
        self.assertEqual(page.words(measure.cell([3.0, 1.0, 2.0])), "2.00 (3.00)")
        self.assertEqual(page.words(measure.cell([3.0, 1.0, 2.0], best=max)), "2.00 (1.00)")
        self.assertEqual(page.words(measure.cell([2.0])), "2.00")
        self.assertEqual(page.words(None), "")

    def test_wide_tables_are_turned(self):
        narrow, wide = page.grid(table()), page.grid(table([f"quite a long name {i}" for i in range(9)]))
        self.assertEqual(len(narrow), 3)
        self.assertEqual(len(wide), 11)
        self.assertTrue(all(len(line) <= page.WIDTH for line in narrow + wide))
        self.assertIn("30.0 (90.0)", wide[2])

    def test_drawing(self):
        text = plot.draw([table(plotted=[0, 1])])
        drawing = xml.dom.minidom.parseString(text)
        bars = [bar for bar in drawing.getElementsByTagName("rect") if bar.getAttribute("x") == str(plot.LEFT)]
        widths = [float(bar.getAttribute("width")) for bar in bars]
        self.assertAlmostEqual(widths[0] / widths[1], 30 / 1.25, delta=0.5)
        self.assertIn("lossless", text)
        self.assertEqual(plot.draw([table(plotted=[])]), "")


class Load(unittest.TestCase):
    def test_refused_unless_told(self):
        with mock.patch.object(host, "others_now", return_value=host.BUSY_MOST + 0.01):
            with self.assertRaises(SystemExit) as ended:
                bench.look_at_load(False)
            self.assertIn("ANYWAY=1", str(ended.exception))
            self.assertTrue(bench.look_at_load(True)["loaded"])
        with mock.patch.object(host, "others_now", return_value=host.BUSY_MOST - 0.01):
            self.assertFalse(bench.look_at_load(False)["loaded"])

    def test_own_work_is_not_that_of_others(self):
        usage = mock.Mock(ru_utime=1.0, ru_stime=0.5)
        with mock.patch.object(host, "busy_seconds", side_effect=[100.0, 112.0]), \
                mock.patch.object(host.time, "monotonic", side_effect=[0.0, 10.0]), \
                mock.patch.object(host.resource, "getrusage", side_effect=[usage] * 2 + [
                    mock.Mock(ru_utime=3.0, ru_stime=1.5), usage]), host.Others() as others:
            pass
        self.assertAlmostEqual(others.processors, (12.0 - 3.0) / 10.0)


    def test_page_tells_how_fast_the_machine_was(self):
        self.assertGreater(host.fixed_work(), 0)
        words = page.others_words({"seconds": 7.0, "others": 0.01, "loaded": False, "fixed_work": 0.36})
        self.assertIn("took 360 ms", words)


class Runs(unittest.TestCase):
    def test_each_group_has_its_file(self):
        files = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(BENCH, "groups"))}
        self.assertEqual(files - {"__init__", "__pycache__"}, set(bench.GROUPS))

    def test_failures_are_told(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            output = os.path.join(folder, "out.json")
            words = ["bench.py", "--anyway", "--rounds=1", "--only=planning", "/bin/false", output]
            with mock.patch.object(sys, "argv", words), mock.patch.object(host, "others_now", return_value=0.0), \
                    contextlib.redirect_stdout(io.StringIO()) as shown, self.assertRaises(SystemExit) as ended:
                bench.main()
            with open(output, encoding="utf-8") as written:
                self.assertIn("status ", json.load(written)["groups"]["planning"]["failed"])
        self.assertIn("planning", str(ended.exception))
        self.assertIn("Failed: ", shown.getvalue())


class Counts(unittest.TestCase):
    def test_two_percent_up_or_down(self):
        limits = {"drain.fib": "100.00"}
        self.assertEqual([cost.judge("drain.fib", value, limits) for value in (98.1, 100.0, 101.9)], [""] * 3)
        self.assertIn("more than", cost.judge("drain.fib", 102.1, limits))
        self.assertIn("lower the limit", cost.judge("drain.fib", 97.9, limits))
        self.assertIn("no limit", cost.judge("drain.other", 100.0, limits))

    def test_costs_of_callees_are_not_the_callers(self):
        lines = ["events: Ir", "ob=(1) /x/spoor", "fn=(1) main", "10 5", "+2 7", "cob=(2) /lib/libc.so.6",
                 "cfn=(2) memcpy", "calls=1 0", "+1 1000", "* 3", "", "ob=(2)", "fn=(2)", "0 990", "ob=(1)", "-4 1"]
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as out:
            out.write("\n".join(lines))
            out.flush()
            self.assertEqual(callgrind.by_object(out.name), {"spoor": 16, "libc.so.6": 990})


if __name__ == "__main__":
    unittest.main()
