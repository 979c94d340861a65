#!/usr/bin/env python3
"""make bench-pauses: how long a process stands still at attach and detach, measured by the process itself.

    pauses.py SPOOR [VISITS]

The processes are generated programs with many functions and threads, one of which only reads the clock; and node with
64 threads, which uses its own timer. The table shows the longest gap in a visit (the median and the longest of all
visits), and the longest gap in as much time without a visit, which the machine causes.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

SPOOR = os.path.abspath(sys.argv[1])
VISITS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
DURATION_S = 0.3

PROGRAM = """
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

%(functions)s
static long (*const all[])(long) = {%(names)s};

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *work(void *unused) {
    const struct timespec nap = {.tv_nsec = 50000000}; /* all together leave processors idle */
    for (long x = 1;; nanosleep(&nap, NULL))
        for (unsigned i = 0; i < sizeof all / sizeof *all; i += 64)
            x = all[i](x);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    for (int i = atoi(argv[argc - 1]); i > 0; i--)
        pthread_create(&thread, NULL, work, NULL);
    struct pollfd in = {.fd = 0, .events = POLLIN};
    for (long last = now(), longest = 0, look = 0;; look++) {
        long t = now();
        char c;
        longest = t - last > longest ? t - last : longest;
        last = t;
        if (look %% 100 || poll(&in, 1, 0) == 0)
            continue;
        if (read(0, &c, 1) <= 0)
            return 0;
        printf("%%ld\\n", longest / 1000);
        fflush(stdout);
        longest = 0;
    }
}
"""

NODE = """
require('fs').stat('.', () => 0); // begins the pool's threads
let last = process.hrtime.bigint(), longest = 0n;
function tick() {
  for (let i = 0; i < 200; i++) {
    const t = process.hrtime.bigint();
    if (t - last > longest) longest = t - last;
    last = t;
  }
  setImmediate(tick);
}
process.stdin.on('data', () => { console.log(String(longest / 1000n)); longest = 0n; });
process.stdin.on('end', () => process.exit(0));
tick();
"""


def generate(directory, count):
    names = [f"f{i}" for i in range(count)]
    functions = "\n".join(f"__attribute__((noinline)) static long {name}(long x) {{ "
                          f"return x * {3 + i} + (x & {1 + i % 7} ? {i} : 5); }}"
                          for i, name in enumerate(names))
    source, program = os.path.join(directory, f"p{count}.c"), os.path.join(directory, f"p{count}")
    with open(source, "w", encoding="ascii") as out:
        out.write(PROGRAM % {"functions": functions, "names": ", ".join(names)})
    subprocess.run(["cc", "-O1", "-pthread", source, "-o", program], check=True)
    return program


class Subject:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(1)
        self.gap()

    def gap(self):
        """The longest gap since the last question, in ms."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / 1000

    def visit(self, options):
        self.gap()
        subprocess.run([SPOOR, "attach", "-q", "-o", "pauses.trace", f"--duration={DURATION_S}s",
                        *options, str(self.process.pid)], check=True)
        return self.gap()

    def idle(self):
        """The longest gap without a visit."""
        self.gap()
        time.sleep(DURATION_S * 2)
        return self.gap()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(what, command, options):
    subject = Subject(command)
    visits, idles = [], []
    for _ in range(VISITS):
        visits.append(subject.visit(options))
        idles.append(subject.idle())
    subject.end()
    print(f"| {what} | {statistics.median(visits):.1f} | {max(visits):.1f} | "
          f"{statistics.median(idles):.1f} | {max(idles):.1f} |", flush=True)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        print("| longest gap, ms | in a visit | longest | without | longest |\n|---|--:|--:|--:|--:|")
        for functions, threads in ((1000, 2), (1000, 64), (60000, 64)):
            measure(f"{functions} functions, {threads} threads",
                    [generate(directory, functions), str(threads)], [])
        script = os.path.join(directory, "tick.js")
        with open(script, "w", encoding="ascii") as out:
            out.write(NODE)
        os.environ["UV_THREADPOOL_SIZE"] = "54"  # node has ten more threads
        measure("node, its own functions", ["node", script], [])
        measure("node, all modules", ["node", script], ["-M", "*"])


main()
