"""Shared by the tests of `spoor view`: a traced program with hostile names, and a client of the server."""
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

SPOOR, SOURCE, COMPILER = os.environ["SPOOR"], sys.argv[1], sys.argv[2:]
LONG_NAME = "long_" + "x" * (1 << 20)
HOSTILE = {b"hostile_quotes_and_markup": b"\"'></script><script>f()",
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

    def wait_for_summary(self):
        connection = self.connect()
        connection.request("GET", "/api/progress", headers={"X-Spoor-Token": self.token})
        response = connection.getresponse()
        while not json.loads(response.readline())["complete"]:
            pass
        connection.close()

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def end(self, number=signal.SIGINT):
        """(status, standard error)"""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


class ViewTest(unittest.TestCase):
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
    def record(cls, name, rounds, *options):
        trace = os.path.join(cls.folder, name)
        subprocess.run([SPOOR, "record", "-q", *options, "-o", trace, "--", cls.program, str(rounds)], check=True)
        return trace

    def setUp(self):
        self.assertIsNone(self.server.process.poll())

    def serve(self, trace, *options, **more):
        server = Server(trace, *options, **more)
        self.addCleanup(server.end)
        return server

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
