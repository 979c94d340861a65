#!/usr/bin/env python3
"""Symbols from debuginfod servers: a recording asks none, whatever they do. Views ask, tell what they wait for, and go on
without after ^C."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

SPOOR = os.environ["SPOOR"]
PATIENCE_S = 40  # less than the minute that a request may take
TEXT = """
    __attribute__((noinline)) static int hidden_name(int x) { __asm__ volatile(""); return x + 1; }
    __attribute__((noinline)) static int other_hidden(int x) { __asm__ volatile(""); return hidden_name(x) + 2; }
    int main(void) { return other_hidden(1) == 4 ? 5 : 0; }"""


class Server:
    """Accepts connections, and does with each what ANSWER does (a function of the socket)."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer, self.connections = answer, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def close(self):
        self.listener.close()
        for connection in self.connections:
            connection.close()


def head(size):
    return f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nX-DEBUGINFOD-SIZE: {size}\r\n\r\n".encode()


def never(_connection):
    """The server of a machine that hangs."""


def begin_only(connection):
    connection.recv(4096)
    connection.sendall(head(1 << 20) + b"\x7fELF" * 1000)


class Debuginfod(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.trace, self.program = self.path("t.trace"), self.path("program")
        full = self.path("program.full")
        subprocess.run(["gcc", "-x", "c", "-", "-O1", "-Wl,--build-id", "-o", full], input=TEXT, text=True, check=True)
        subprocess.run(["objcopy", "--only-keep-debug", full, self.path("debug")], check=True)
        subprocess.run(["strip", "-o", self.program, full], check=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def environment(self, server, cache):
        return {**os.environ, "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": self.path(cache),
                "XDG_CACHE_HOME": self.path("plans")}

    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.close)
        return server

    def run_spoor(self, server, *words, cache="cache"):
        return subprocess.run([SPOOR, *words], env=self.environment(server, cache), text=True, timeout=PATIENCE_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def record(self, server, *words):
        done = self.run_spoor(server, "record", "-o", self.trace, *words, self.program)
        self.assertEqual(done.returncode, 5, done.stderr)
        return done

    def functions(self, server, cache="cache"):
        done = self.run_spoor(server, "report", "--json", self.trace, cache=cache)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["function"] for row in json.loads(done.stdout)}, done.stderr

    def test_recording_asks_no_server(self):
        server = self.serve(never)
        for words in [], ["-M", "*"], ["-F", "main"]:
            self.record(server, *words) if words != ["-F", "main"] else \
                self.run_spoor(server, "record", "-o", self.trace, *words, self.program)
        self.assertEqual(server.connections, [])

    def test_views_wait_for_a_silent_server_once(self):
        server = self.serve(never)
        self.record(server)
        names, messages = self.functions(server)
        self.assertNotIn("hidden_name", names)
        self.assertIn("waiting for symbols of program from " + server.url, messages)
        count = len(server.connections)
        self.assertGreaterEqual(count, 1)
        self.assertEqual(self.functions(server), (names, ""))
        self.assertEqual(len(server.connections), count)

    def test_interrupted_wait(self):
        server = self.serve(begin_only)
        self.record(server)
        view = subprocess.Popen([SPOOR, "report", "--json", self.trace], env=self.environment(server, "cache"),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting for symbols", view.stderr.readline())
        view.send_signal(signal.SIGINT)
        output, _ = view.communicate(timeout=PATIENCE_S)
        self.assertEqual(view.returncode, 0)
        self.assertGreater(len(json.loads(output)), 0)

    def test_names_from_a_server(self):
        with open(self.path("debug"), "rb") as debug:
            content = debug.read()

        def serve(connection):
            connection.recv(4096)
            connection.sendall(head(len(content)) + content)

        server = self.serve(serve)
        self.record(server)
        for _ in range(2):
            names, _ = self.functions(server)
            self.assertLessEqual({"hidden_name", "other_hidden", "main"}, names)
        self.assertEqual(len(server.connections), 1)
        self.record(server, "-F", "hidden_name")  # the files that were fetched serve later recordings
        self.assertEqual(self.functions(server)[0], {"hidden_name"})
        self.assertEqual(len(server.connections), 1)


class Suggestions(unittest.TestCase):
    """What is given to record is no program, or what is given to spoor no command."""

    def test_suggestions(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["gcc", "-x", "c", "-", "-o", os.path.join(folder, "prog")], text=True, check=True,
                           input="int main(void) { return 0; }")
            with open(os.path.join(folder, "prog.c"), "w", encoding="ascii") as text:
                text.write("int main(void) { return 0; }")
            pid = str(os.getpid())
            subprocess.run([SPOOR, "record", "-q", "./prog"], cwd=folder, check=True)
            for words, status, meant in ((["./prog"], 2, "spoor record ./prog"), (["prog"], 2, "spoor record ./prog"),
                                         (["record", "prog"], 127, "spoor record ./prog"),
                                         (["record", "./prog.c"], 126, "spoor record ./prog"),
                                         (["record", "spoor.trace"], 127, "spoor report spoor.trace"),
                                         (["spoor.trace"], 2, "spoor report spoor.trace"),
                                         (["record", pid], 127, f"spoor attach {pid}"),
                                         ([pid], 2, f"spoor attach {pid}"),
                                         (["record", "report"], 127, "spoor report"),
                                         (["record", "prog_x"], 127, None), (["./nothing"], 2, None)):
                done = subprocess.run([SPOOR, *words], cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1), words)
                self.assertEqual(f"(did you mean '{meant}'?)\n" in done.stderr, meant is not None, done.stderr)


if __name__ == "__main__":
    try:
        import ctypes
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("libdebuginfod is not installed")
        sys.exit(77)
    unittest.main()
