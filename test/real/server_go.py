"""A Go HTTP server under wrk, whose goroutines compute besides and are preempted by signals."""
import os

from real import compiled
from serving import Kind, load_http, which
from visiting import serve

SERVED = os.path.join(compiled([which("go"), "build", "-o", "served"], "served.go", GO111MODULE="off",
                               GOFLAGS="", CGO_ENABLED="0"), "served")


def start(port, *more):
    return [SERVED, f"127.0.0.1:{port}", *more]


KIND = Kind(
    start, [load_http, load_http], pids=lambda pid: [pid],
    ways=([], ["-F", "main.*"], ["-F", "net/http.*"], ["--overflow=wait"],
          ["-F", "main.*", "--overflow=wait"]),
    wrong="wrong|panic|fatal|error|SIG")

# What the goroutines compute takes as much of the processors as is left: it hides what a request does.
STEADY = KIND._replace(start=lambda port: start(port, "steady"))

if __name__ == "__main__":
    serve(KIND)
