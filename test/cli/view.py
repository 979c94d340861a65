#!/usr/bin/env python3
"""view.py VIEW.C COMPILER...: what the server of `spoor view` answers, whom it refuses, and when it ends; and the file
that `spoor view --html` writes."""
import base64
import concurrent.futures
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SPOOR, SOURCE, COMPILER = os.environ["SPOOR"], sys.argv[1], sys.argv[2:]
LONG_NAME = "long_" + "x" * (1 << 20)
HOSTILE = {b"hostile_quotes_and_markup": b"\"'><script>alert(1)</scri",
           b"hostile_newline_and_bytes": b"line\none\\ \x01\xff\xfe\xed\xa0\x80 &lt;"}
ROUNDS = 100
PATIENCE = 60  # seconds, for what takes far less
BOXES_MAGIC, DENSITY_MAGIC = 0x73705631, 0x73705644


def run(*words, **options):
    return subprocess.run([SPOOR, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE, **options)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def boxes_of(data):
    """[(stream, depth, start, end, function, calls, flags)] of a binary answer."""
    magic, count, since, until = struct.unpack_from("<IIdd", data)
    assert magic == BOXES_MAGIC, hex(magic)
    columns, at = [], 24
    for form in "ddIIIHH":
        columns.append(struct.unpack_from(f"<{count}{form}", data, at))
        at += -(-count * struct.calcsize(form) // 8) * 8
    assert at == len(data), (at, len(data))
    start, end, function, calls, stream, depth, flags = columns
    return list(zip(stream, depth, start, end, function, calls, flags))


class Server:
    def __init__(self, trace, *more, env=None):
        self.process = subprocess.Popen([SPOOR, "view", "--no-open", trace, *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#([0-9a-f]{32})\n", self.line)
        assert found, (self.line, self.process.stderr.read())
        self.port, self.token = int(found[1]), found[2]

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path, method="GET", headers=None, body=None):
        """(status, headers, body) of a request with the token."""
        connection = self.connect()
        try:
            connection.request(method, path, body, {"X-Spoor-Token": self.token} if headers is None else headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask(path)
        assert status == 200, (path, status, body)
        return body

    def json(self, path):
        return json.loads(self.get(path).decode("utf-8"))

    def send(self, data):
        """All that comes back for raw bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as s:
            answer = b""
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while part := s.recv(65536):
                    answer += part
            except ConnectionError:
                pass
            return answer

    def open_page(self):
        """A connection whose /api/progress is open."""
        connection = self.connect()
        connection.request("GET", "/api/progress", headers={"X-Spoor-Token": self.token})
        response = connection.getresponse()
        assert json.loads(response.readline())["stage"] == "summary"
        return connection, response

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def end(self, number=signal.SIGINT):
        """(status, standard error)"""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.program = os.path.join(cls.folder, "program")
        subprocess.run([*COMPILER, "-O1", "-pthread", "-x", "c", "-", "-o", cls.program], check=True,
                       input=read(SOURCE).replace(b"LONG_NAME", LONG_NAME.encode()))
        data = read(cls.program)
        for name, hostile in HOSTILE.items():
            data = data.replace(name, hostile.ljust(len(name), b"!"))
        with open(cls.program, "wb") as out:
            out.write(data)
        cls.trace = cls.record("trace", ROUNDS)
        cls.server = Server(cls.trace)
        cls.addClassCleanup(cls.server.end)

    @classmethod
    def record(cls, name, rounds):
        trace = os.path.join(cls.folder, name)
        subprocess.run([SPOOR, "record", "-q", "-o", trace, "--", cls.program, str(rounds)], check=True)
        return trace

    def setUp(self):
        self.assertIsNone(self.server.process.poll())

    def serve(self, trace, *options, **more):
        server = Server(trace, *options, **more)
        self.addCleanup(server.end)
        return server

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

    def calls_of_replay(self):
        """{(tid, depth, start): (function, duration)} of calls that have ended."""
        calls, opened = {}, {}
        for line in map(json.loads, run("replay", "--json", self.trace).stdout.splitlines()):
            key = line["tid"], line["depth"]
            if line["kind"] == "entry":
                opened[key] = line["t_ns"]
            elif line["kind"] in ("exit", "unwound"):
                calls[*key, opened.pop(key)] = line["function"], line["duration_ns"]
        return calls

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
        self.assertIn("void marked(void)", answer["lines"][3 - answer["first"]])
        sites = json.loads(run("explain", "--json", program).stdout)
        self.assertEqual(answer["sites"], next(one for one in sites if one["function"].startswith("marked")))
        os.utime(source)
        self.assertIs(server.json(f"/api/source?function={names['marked']}")["same_build"], False)

    def test_hostile_names(self):
        rows = {row["function"] for row in self.server.json("/api/functions")}
        self.assertGreater(max(map(len, rows)), len(LONG_NAME) // 3)  # spoor cuts such names
        self.assertTrue(any("<script>" in name and '"' in name for name in rows))
        self.assertTrue(any("\ufffd" in name for name in rows))
        names = {name for _, name, *_ in self.server.json("/api/names")["functions"]}
        self.assertLessEqual(rows, names)

    # ---- whom it refuses ----

    def test_token(self):
        wrong = "0" * 32 if self.server.token[0] != "0" else "1" * 32
        for token in (None, "", wrong, self.server.token[:-1], self.server.token + "0", self.server.token.upper() + "!"):
            headers = {} if token is None else {"X-Spoor-Token": token}
            for path in ("/api/trace", "/api/progress", "/api/functions", "/api/nothing"):
                status, _, body = self.server.ask(path, headers=headers)
                self.assertEqual(status, 403, (token, path))
                self.assertIn("token", json.loads(body)["error"])
            self.assertEqual(self.server.ask(f"/api/trace?token={self.server.token}", headers=headers)[0], 403)
        self.assertNotEqual(self.server.token, self.serve(self.trace).token)

    def test_hosts_and_origins(self):
        def status_for(name, value):
            headers = {"X-Spoor-Token": self.server.token, name: value}
            return self.server.ask("/api/trace", headers=headers)[0]
        for host in ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:1", "LOCALHOST:65000", "[::1]:8080"):
            self.assertEqual(status_for("Host", host), 200, host)
            self.assertEqual(status_for("Origin", "http://" + host), 200, host)
        for host in ("example.com", "127.0.0.1.example.com", "localhost.example.com:80", "127.0.0.2", "[::2]", "evil",
                     "127.0.0.1:80x", "127.0.0.1:", "::1", ""):
            self.assertIn(status_for("Host", host), (400, 403), host)
            self.assertEqual(status_for("Origin", "http://" + host), 403, host)
        for origin in ("null", "https://example.com", "file://", "127.0.0.1"):
            self.assertEqual(status_for("Origin", origin), 403, origin)
        self.assertEqual(self.server.ask("/", headers={"Host": "example.com"})[0], 403)

    def test_methods_paths_and_headers(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            self.assertEqual(self.server.ask("/api/trace", method)[0], 405, method)
            self.assertEqual(self.server.ask("/", method, body=b"x" * 100000)[0], 405, method)
        status, headers, body = self.server.ask("/api/trace", "HEAD")
        self.assertEqual((status, body), (200, b""))
        for path in ("/api/nothing", "/nothing.js", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd",
                     "/api/", "/api/functions/", "//", "/api/spans%3fexact", "/api/spans%20"):
            self.assertEqual(self.server.ask(path)[0], 404, path)
        status, headers, body = self.server.ask("/", headers={})
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        policy = headers["Content-Security-Policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
            self.assertIn(rule, policy)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(headers["Cache-Control"], "no-store")
        for name in re.findall(rb'(?:src|href)="([^"]+\.(?:js|css))"', body):
            self.assertEqual(self.server.ask("/" + name.decode(), headers={})[0], 200)

    def test_parameters(self):
        for query in ("functions?since=x", "functions?since=-1", "functions?until=1e9", "functions?since=",
                      "functions?since=99999999999999999999999", "functions?streams=x", "functions?streams=0,99",
                      "functions?streams=,", "functions?streams=0,", "graph?least=x", "graph?least=2", "graph?least=nan",
                      "calls", "calls?function=99999999", "calls?function=0&order=x", "next?function=0&direction=2",
                      "spans?columns=0", "spans?columns=1000000000000", "density?columns=-5", "frames",
                      "histogram?function=-1", "source?function=4294967296", "marks?limit=x"):
            status, _, body = self.server.ask("/api/" + query)
            self.assertEqual(status, 400, query)
            self.assertRegex(json.loads(body)["error"], ": ", query)
        self.assertEqual(self.server.get("/api/functions?si%6ece=0&unt%69l=%31%30%30"),
                         self.server.get("/api/functions?since=0&until=100"))
        self.assertEqual(self.server.json("/api/functions?since=10&until=5"), [])

    def test_huge_and_broken_requests(self):
        head = f"Host: localhost\r\nX-Spoor-Token: {self.server.token}\r\n".encode()
        for data in (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + head + b"\r\n",
                     b"GET /api/trace?x=" + b"%41" * 100000 + b" HTTP/1.1\r\n" + head + b"\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(20000)) + b"\r\n"):
            self.assertNotRegex(self.server.send(data)[:20], rb"^HTTP/1\.1 200")
        random.seed(1)
        for _ in range(100):
            self.server.send(bytes(random.randrange(256) for _ in range(random.randrange(300))))
            self.server.send(b"GET " + bytes(random.randrange(33, 256) for _ in range(30)) + b" HTTP/1.1\r\n" + head)
        self.server.send(b"GET /api/trace HTTP/1.1\r\n" + head + b"Content-Length: 10\r\n\r\n0123456789")
        self.assertEqual(self.server.ask("/api/trace")[0], 200)

    # ---- many clients, closed ones ----

    def test_ten_clients_at_once(self):
        paths = ["/api/functions", "/api/graph", "/api/info", "/api/names", "/api/spans?columns=500",
                 "/api/spans?columns=500&exact=1", "/api/density?columns=20", "/api/functions?since=1000&until=100000000"]
        expected = {path: self.server.get(path) for path in paths}

        def client(seed):
            order = random.Random(seed).sample(paths * 5, len(paths) * 5)
            connection = self.server.connect()
            for path in order:
                connection.request("GET", path, headers={"X-Spoor-Token": self.server.token})
                if connection.getresponse().read() != expected[path]:
                    return path
            connection.close()
            return None
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            self.assertEqual(set(pool.map(client, range(10))), {None})

    def processor_time(self, server, requests, close):
        """What SERVER takes for requests that a client waits for, or does not."""
        head = f" HTTP/1.1\r\nHost: localhost\r\nX-Spoor-Token: {server.token}\r\nConnection: close\r\n\r\n".encode()

        def used():
            with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as file:
                return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        before, idle = used(), server.threads()
        for i in range(requests):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as s:
                s.sendall(b"GET /api/graph?since=%d" % (i + 1) + head)
                while not close and s.recv(1 << 20):
                    pass
        deadline = time.monotonic() + PATIENCE
        while server.threads() > idle and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(server.threads(), idle)
        return used() - before

    def test_closed_connections(self):
        """Reading ends when nobody waits for the answer any more, and threads end."""
        trace = self.record("large", 60000)
        server = self.serve(trace)
        connection, response = server.open_page()
        while not json.loads(response.readline())["complete"]:
            pass
        waited, closed = (self.processor_time(server, 6, close) for close in (False, True))
        self.assertLess(closed, waited / 2)
        self.assertEqual(server.json("/api/functions?until=0"), json.loads(
            run("report", "--json", "--until=0", trace).stdout))
        connection.close()

    # ---- its life ----

    def test_end_after_the_last_page(self):
        server = self.serve(self.trace, "--linger=300ms")
        time.sleep(1)
        self.assertIsNone(server.process.poll())  # no page was opened
        first, second = server.open_page()[0], server.open_page()[0]
        first.sock and first.close()
        time.sleep(1)
        self.assertIsNone(server.process.poll())  # one page is open
        server.get("/api/info")
        second.sock and second.close()
        self.assertEqual(server.process.wait(PATIENCE), 0)
        self.assertEqual(server.end(), (0, ""))

    def test_stay(self):
        server = self.serve(self.trace, "--linger=100ms", "--stay")
        server.open_page()[0].close()
        time.sleep(1)
        self.assertIsNone(server.process.poll())
        self.assertEqual(server.end(), (0, ""))

    def test_interrupts(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.serve(self.trace)
            page = server.open_page()
            with socket.create_connection(("127.0.0.1", server.port)) as half:
                half.sendall(b"GET /api/tr")
                self.assertEqual(server.end(number), (0, ""))
            page[0].close()

    def test_ports(self):
        result = run("view", "--no-open", f"--port={self.server.port}", self.trace, text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", f"spoor: 127.0.0.1:{self.server.port}: address in use: give another --port, or none\n"))
        self.assertEqual(run("view", "--port=70000", self.trace).returncode, 2)
        server = self.serve(self.trace)
        server.get("/api/info")
        server.end()
        again = self.serve(self.trace, f"--port={server.port}")  # although connections of the last one linger
        self.assertEqual(again.port, server.port)

    def test_addresses(self):
        """It listens at 127.0.0.1 only."""
        table = (read("/proc/net/tcp") + read("/proc/net/tcp6")).decode()
        listening = re.findall(rf"^ *\d+: ([0-9A-F]+):{self.server.port:04X} \S+ 0A", table, re.M)
        self.assertEqual(listening, ["0100007F"])

    def test_browsers(self):
        folder = os.path.join(self.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        opener, log = os.path.join(folder, "xdg-open"), os.path.join(folder, "log")
        with open(opener, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\nlinks=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)\n"
                      f"printf '%s\\n' \"$links\" \"$1\" >'{log}.part'\n"
                      f"mv '{log}.part' '{log}'\nexit 3\n")
        os.chmod(opener, 0o755)
        plain = {key: value for key, value in os.environ.items()
                 if key not in ("SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY")}
        plain["PATH"] = f"{folder}:{plain['PATH']}"
        for more, told in (({}, "ssh -N -L"), ({"DISPLAY": ":7", "SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 2222"}, "-p 2222"),
                           ({"WAYLAND_DISPLAY": "x"}, None)):
            process = subprocess.Popen([SPOOR, "view", self.trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env={**plain, **more})
            self.addCleanup(process.kill)
            line = process.stdout.readline()
            deadline = time.monotonic() + PATIENCE
            while told is None and not os.path.exists(log) and time.monotonic() < deadline:
                time.sleep(0.01)
            errors = process.stderr.readline() if told else ""
            process.send_signal(signal.SIGINT)
            rest, more_errors = process.communicate(timeout=PATIENCE)
            errors += more_errors
            self.assertEqual((rest, process.returncode), ("", 0))
            if told:
                port = re.search(r":(\d+)/", line)[1]
                self.assertRegex(errors, rf"^spoor: .*ssh -N -L {port}:127\.0\.0\.1:{port} .*\n$")
                self.assertIn(told, errors)
                self.assertFalse(os.path.exists(log))
            else:
                lines = read(log).decode().splitlines()
                self.assertEqual((errors, lines[-1] + "\n"), ("", line))
                self.assertEqual(lines[:-1], 3 * ["/dev/null"])

    def test_wrong_operands(self):
        for words, status, message in (
                (["view", "/nowhere"], 1, "No such file"), (["view", str(os.getpid())], 1, "a running process"),
                (["view", "--html=x", "--port=5", self.trace], 2, "--html"), (["view", "--since=5", self.trace], 2, "--html"),
                (["view", "--html=x", self.trace, self.trace], 2, "one trace"), (["view", "a", "b", "c"], 2, "too many"),
                (["view", "--control", self.trace], 2, "unknown option"), (["view", SOURCE], 1, "not a")):
            result = run(*words, text=True)
            self.assertEqual((result.returncode, result.stdout), (status, ""), words)
            self.assertRegex(result.stderr, rf"^spoor: .*{message}.*\n$")

    # ---- traces that change ----

    def test_changed_trace(self):
        trace = os.path.join(self.folder, "changing")
        data = read(self.trace)
        for change in (lambda file: file.truncate(len(data) // 2), lambda file: file.write(bytes(len(data)))):
            with open(trace, "wb") as out:
                out.write(data)
            server = self.serve(trace)
            expected = server.get("/api/functions")
            with open(trace, "r+b") as file:
                change(file)
            for path in ("functions", "graph", "spans?exact=1", "trace", "spans"):
                status, _, body = server.ask("/api/" + path)
                self.assertEqual(status, 410, path)
                self.assertIn("was changed", json.loads(body)["error"])
            self.assertEqual(server.end()[0], 0)
            os.unlink(trace)
        server = self.serve(self.record("replaced", 10))
        before = server.get("/api/functions")
        os.replace(self.record("other", 20), os.path.join(self.folder, "replaced"))
        self.assertEqual(server.get("/api/functions"), before)  # the old file is still open
        self.assertNotEqual(expected, before)

    def test_growing_trace(self):
        trace = os.path.join(self.folder, "growing")
        recorder = subprocess.Popen([SPOOR, "record", "-q", "-o", trace, "--", self.program, "100000000"])
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.terminate)
        deadline = time.monotonic() + PATIENCE
        while run("report", "--json", trace + ".part").returncode and time.monotonic() < deadline:
            time.sleep(0.05)
        server = self.serve(trace + ".part")
        shown = server.json("/api/trace")
        self.assertIs(shown["complete"], False)
        self.assertTrue(shown["warning"])
        before, size = server.get("/api/functions"), os.path.getsize(trace + ".part")
        while os.path.getsize(trace + ".part") == size and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(server.get("/api/functions"), before)
        self.assertIn(shown["warning"], server.end()[1])

    # ---- one file ----

    def write_html(self, *options):
        path = os.path.join(self.folder, "page.html")
        result = run("view", f"--html={path}", *options, self.trace, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
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
        self.assertNotRegex(text, r"(?:src|href)=\"(?!data:)")

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

    def test_html_refusals(self):
        path = os.path.join(self.folder, "refused.html")
        for options, message in ((["--since=1h"], "nothing is shown"), (["--tid=1"], "thread")):
            result = run("view", f"--html={path}", *options, self.trace, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, rf"^spoor: .*{message}.*\n$")
            self.assertFalse(os.path.exists(path))
        result = run("view", "--html=/nowhere/x.html", self.trace, text=True)
        self.assertEqual(result.returncode, 1)

    def test_libraries(self):
        """spoor itself starts without an HTTP library."""
        shown = subprocess.run(["ldd", SPOOR], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertNotIn("microhttpd", shown)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
unittest.main(argv=sys.argv[:1])
