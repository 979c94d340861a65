"""Deciding on every function of a file."""
import os
import shutil
import struct
import subprocess
import time

from measure import Failed, Table, cell

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FILES = (f"{LIBRARIES}/libc.so.6", f"{LIBRARIES}/libcrypto.so.3", f"{LIBRARIES}/libsqlite3.so.0", "/usr/bin/node",
         "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", f"{LIBRARIES}/libLLVM-14.so.1")
EXECUTABLE = 4  # a flag of ELF section headers
COLUMNS = ["MB of code", "cold, s", "cold, processor s", "MB of code a second", "warm, s", "memory, MB"]
TEXT = ("spoor explain, its print included. Cold: with an empty XDG_CACHE_HOME. MB of code for each second on the wall. "
        "Memory: resident at the peak, with what was read of the mapped file; up to 25 MB it may be that of the "
        "benchmark itself.")


def code_bytes(path):
    """The size of a file's executable sections."""
    with open(path, "rb") as f:
        head = f.read(64)
        offset, = struct.unpack_from("<Q", head, 40)
        size, count = struct.unpack_from("<HH", head, 58)
        f.seek(offset)
        table = f.read(size * count)
    headers = [struct.unpack_from("<IIQQQQ", table, i * size) for i in range(count)]
    return sum(h[5] for h in headers if h[2] & EXECUTABLE)


def explain(command, cache):
    """Seconds on the wall, of processors, and MB of memory."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": cache}) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status:
        raise Failed(f"{' '.join(command)}: status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(bench):
    table = Table("Planning a file", COLUMNS, TEXT, plot=[1, 4])
    for path in filter(os.path.exists, FILES):
        command, cache, cold, warm = [bench.spoor, "explain", path], bench.path("explain-cache"), [], []
        for _ in range(bench.rounds):
            shutil.rmtree(cache, ignore_errors=True)
            cold.append(explain(command, cache))
            warm.append(explain(command, cache))
        size = code_bytes(path) / 1e6
        table.row(os.path.basename(path), [size, cell([run[0] for run in cold]), cell([run[1] for run in cold]),
                                           cell([size / run[0] for run in cold], best=max),
                                           cell([run[0] for run in warm]), cell([run[2] for run in cold])],
                  bench.shown(command))
    return [table]
