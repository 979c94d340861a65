#!/usr/bin/env python3
"""view_server.py VIEW.C COMPILER...: whom the server of `spoor view` refuses, how it serves many, and when it ends."""
import concurrent.futures
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from viewing import PATIENCE, SOURCE, SPOOR, ViewTest, read, run


class Serving(ViewTest):
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
        self.assertLessEqual(server.threads(), idle)  # one of before may have ended meanwhile
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
                           ({"WAYLAND_DISPLAY": "x", "PATH": os.path.dirname(SPOOR)}, "no browser was opened"),
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
                self.assertRegex(errors, rf"^spoor: .*(ssh -N -L {port}:127\.0\.0\.1:{port} .*|open the address in one)\n$")
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

    def test_libraries(self):
        """spoor itself starts without an HTTP library."""
        shown = subprocess.run(["ldd", SPOOR], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertNotIn("microhttpd", shown)


unittest.main(argv=sys.argv[:1])
