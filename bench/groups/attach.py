"""How long a process stands still at attach and detach, measured by the process itself.

The processes are generated programs with many functions and threads, one of which only reads the clock; and node with
64 threads, which uses its own timer.
"""
import os
import shutil
import subprocess
import time

from measure import Table, cell, run

DURATION_S = 0.3
COLUMNS = ["in a visit, ms", "without, ms"]
TEXT = ("The longest time that a process stood still while spoor came, stayed for 0.3 s and left, as the process itself "
        "saw it; and the same without a visit, which is what the machine causes. Plans are in the cache.")

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


def generate(bench, count):
    names = [f"f{i}" for i in range(count)]
    functions = "\n".join(f"__attribute__((noinline)) static long {name}(long x) {{ "
                          f"return x * {3 + i} + (x & {1 + i % 7} ? {i} : 5); }}"
                          for i, name in enumerate(names))
    source, program = bench.path(f"p{count}.c"), bench.path(f"p{count}")
    with open(source, "w", encoding="ascii") as out:
        out.write(PROGRAM % {"functions": functions, "names": ", ".join(names)})
    run(["gcc", "-O1", "-pthread", source, "-o", program])
    return program


class Subject:
    """A process that answers each line with the longest gap since the last one."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(1)
        self.gap()

    def gap(self):
        """The longest gap since the last question, in ms."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / 1000

    def visit(self, command):
        """The same for a visit of spoor by COMMAND."""
        self.gap()
        run([*command, str(self.process.pid)])
        return self.gap()

    def idle(self):
        """The longest gap without a visit."""
        self.gap()
        time.sleep(DURATION_S * 2)
        return self.gap()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure_one(bench, command, options):
    """Samples of visits and of quiet times, and spoor's command."""
    subject = Subject(command)
    attach = [bench.spoor, "attach", "-q", "-o", bench.path("t.trace"), f"--duration={DURATION_S}s", *options]
    subject.visit(attach)  # fills the cache
    visits, idles = [], []
    for _ in range(bench.rounds):
        visits.append(subject.visit(attach))
        idles.append(subject.idle())
    subject.end()
    return visits, idles, attach


def subjects(bench):
    """{name: (command, options)}"""
    table = {f"{functions} functions, {threads} threads": ([generate(bench, functions), str(threads)], [])
             for functions, threads in ((1000, 2), (1000, 64), (60000, 64))}
    if shutil.which("node"):
        script = bench.path("tick.js")
        with open(script, "w", encoding="ascii") as out:
            out.write(NODE)
        node = ["env", "UV_THREADPOOL_SIZE=54", "node", script]  # it has ten more threads
        table["node, its own functions"] = (node, [])
        table["node, all modules"] = (node, ["-M", "*"])
    return table


def measure(bench):
    table = Table("Standing still", COLUMNS, TEXT, plot=[0, 1])
    for name, (command, options) in subjects(bench).items():
        visits, idles, attach = measure_one(bench, command, options)
        table.row(name, [cell(visits), cell(idles)], bench.shown([*attach, "PID"]))
    return [table]
