"""redis-server under redis-benchmark. Debian's redis-tools has it as redis-check-rdb: that is the same program, which
decides by its name what it does."""
import contextlib
import os
import socket

from serving import PATIENCE, Kind, Period, generator, which
from visiting import serve

REQUESTS = 1000
TESTS = "set", "get", "incr", "lpush", "lpop", "sadd", "hset", "zadd", "lrange_100"


def start(port, threads="2"):
    os.symlink(which("redis-check-rdb"), "redis-server")
    return [os.path.realpath(".") + "/redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
            "--io-threads", threads, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random"]


def answers(port):
    with contextlib.suppress(OSError), \
            socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(100) == b"+PONG\r\n"
    return False


def batch(port, seconds):
    text, took, failed = generator(
        [which("redis-benchmark"), "-p", str(port), "-c", "20", "-P", "4", "-q",
         "-n", str(REQUESTS), "-t", ",".join(TESTS)], seconds)
    return Period(REQUESTS * text.count("requests per second"), took,
                  text if failed or "rror" in text else "")


def load(port, seconds):
    """redis-benchmark counts requests, not seconds."""
    whole = Period(0, 0, "")
    while whole.seconds < seconds and not whole.failed:
        part = batch(port, seconds)
        whole = Period(whole.done + part.done, whole.seconds + part.seconds, part.failed)
    return whole


KIND = Kind(
    start, [load, load], pids=lambda pid: [pid],
    ways=([], ["-M", "*"], ["-F", "processCommand"], ["-M", "*", "--overflow=wait"],
          ["--overflow=wait", "--buffer=16K"]),
    answers=answers,
    wrong=r"# (?!WARNING|Server initialized|oO0OoO0OoO0Oo|Redis version|Configuration loaded|Warning)"
          r"|BUG REPORT|Crashed")

# For measurements, without I/O threads: idle ones spin, and hide the costs of a request.
STEADY = KIND._replace(start=lambda port: start(port, "1"))

if __name__ == "__main__":
    serve(KIND)
