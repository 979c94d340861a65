"""A Go HTTP server under wrk. Its goroutines also compute, and are preempted by signals."""
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

# For measurements, without computing goroutines: they use all idle processor time, and hide the costs of a request.
STEADY = KIND._replace(start=lambda port: start(port, "steady"))

if __name__ == "__main__":
    serve(KIND)
