"""Shared by the tests of servers (test/real/server_*.py) and bench/servers.py: running servers and generators of load.
"""
import collections
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

FOLDER = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "attach"))
from attach import SKIP, Failure, check  # noqa: E402

PATIENCE = 60


def answers_http(port, path="/"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


# done: number of requests. failed: the generator's messages about failed requests, or "".
Period = collections.namedtuple("Period", "done seconds failed")
# The description of a server.
# start(port): prepares files in the current directory; returns the command.
# loads: functions of (port, seconds) that return a Period. All run at the same time; the first one measures.
# pids(pid): processes to attach to; each visit takes one of them.
# ways: options of attach.
# wrong: a pattern that must not be in the server's log.
# generates: whether the server makes code at run time.
# answers(port): makes a request; returns whether it was answered.
# works(port, pid): returns when PID has done some work from now on. None: each request is work for all pids.
Kind = collections.namedtuple(
    "Kind", "start loads pids ways wrong generates answers works environment",
    defaults=(False, answers_http, None, None))


def which(*names):
    """The path of a program, which has one of NAMES. Skips the test if it is not installed."""
    for folder in "/usr/bin", "/usr/sbin", "/usr/local/bin":
        for name in names:
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    print(f"{names[0]} is not installed")
    sys.exit(SKIP)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
        return [int(word) for word in children.read().split()]


def generator(command, seconds):
    """Runs a load generator. Returns (output, duration in s, whether it failed)."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            out, _ = process.communicate(timeout=seconds + PATIENCE)
        except subprocess.TimeoutExpired as late:
            process.kill()
            raise Failure(f"{command[0]}: not answered in {PATIENCE} s") from late
    return out.decode(), time.monotonic() - begin, process.returncode != 0


def load_http(port, seconds, path="/", connections=8, header="X-Test: yes"):
    """A Period of requests by wrk."""
    text, _, failed = generator(
        [which("wrk"), "-t1", f"-c{connections}", f"-d{seconds:g}s", f"--timeout={PATIENCE}s",
         "-H", header, f"http://127.0.0.1:{port}{path}"], seconds)
    done = re.search(r"(\d+) requests in ([0-9.]+)(ms|s|m)", text)
    wrong = re.findall(r"Socket errors:.*|Non-2xx.*|unable.*", text)
    check(done or failed or wrong, f"wrk: not understood: {text}")
    scale = {"ms": 0.001, "s": 1, "m": 60}[done[3]] if done else 1
    return Period(int(done[1]) if done else 0, float(done[2]) * scale if done else seconds,
                  "; ".join(wrong) or (text if failed else ""))


class Server:
    """A running server, in a directory of its own."""

    def __init__(self, kind, name):
        self.kind, self.name, self.port = kind, name, free_port()
        self.log = os.path.realpath(name + ".log")
        folder = os.getcwd()
        os.mkdir(name, 0o755)
        os.chdir(name)
        try:
            command = kind.start(self.port)
        finally:
            os.chdir(folder)
        with open(self.log, "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(command, cwd=name, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=kind.environment,
                                            start_new_session=True)

    def await_ready(self):
        for _ in range(PATIENCE * 20):
            check(self.process.poll() is None, f"{self.name}: has ended: {self.log_text()}")
            if self.kind.answers(self.port):
                return
            time.sleep(0.05)
        raise Failure(f"{self.name}: does not answer: {self.log_text()}")

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def check_well(self):
        check(self.process.poll() is None,
              f"{self.name}: ended with {self.process.returncode}: {self.log_text()[-2000:]}")
        wrong = [line for line in self.log_text().splitlines() if re.search(self.kind.wrong, line)]
        check(not wrong, f"{self.name}: logged {wrong[:3]}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def exit_on_sigterm():
    """Makes SIGTERM end this process by an exception, so that its children are ended, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


@contextlib.contextmanager
def serving(kind, name):
    server = Server(kind, name)
    try:
        server.await_ready()
        yield server
        server.check_well()
    finally:
        server.end()


class Pressure:
    """Load all the time. Each generator runs again and again for SECONDS, so connections begin and end."""
    SECONDS = 2

    def __init__(self, server):
        self.server, self.over, self.periods, self.failure = server, False, [], None
        self.threads = [threading.Thread(target=self.generate_load, args=[load]) for load in server.kind.loads]

    def generate_load(self, load):
        try:
            while not self.over and not self.failure:
                self.periods.append(load(self.server.port, self.SECONDS))
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failure = failure

    def __enter__(self):
        for thread in self.threads:
            thread.start()
            time.sleep(self.SECONDS / 2 / len(self.threads))
        return self

    def __exit__(self, *unused):
        self.over = True
        for thread in self.threads:
            thread.join()

    def check_well(self):
        if self.failure:
            raise Failure(f"load: {self.failure}")
        failed = [period.failed for period in self.periods if period.failed]
        check(not failed, f"load: requests failed: {failed[:3]}")

    def rate(self):
        took = sum(period.seconds for period in self.periods) / len(self.threads)
        return sum(period.done for period in self.periods) / max(took, 1e-9)
