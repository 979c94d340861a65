"""What the figures depend on besides spoor: the machine, what else it does, and versions."""
import os
import platform
import re
import resource
import shutil
import subprocess
import time
import zlib

BUSY_MOST = 0.15  # processors that other processes may use; more is called loaded
TICKS = os.sysconf("SC_CLK_TCK")
VERSIONS = {"gcc": ["gcc", "--version"], "uftrace": ["uftrace", "--version"], "sqlite3": ["sqlite3", "--version"],
            "python3": ["/usr/bin/python3", "--version"], "xz": ["xz", "--version"], "node": ["node", "--version"],
            "perl": ["perl", "-e", "print $^V"], "rustc": ["rustc", "--version"], "llc": ["llc", "--version"],
            "libc": ["ldd", "--version"]}
NUMBER = re.compile(r"v?\d+\.\d[\w.+-]*")


def busy_seconds():
    """Processor time that all processes have used since boot, and that the hypervisor has kept from them (proc(5))."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def own_seconds():
    """Processor time of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Others:
    """with Others() as others: …; others.processors: how many processors others used meanwhile, on average."""

    def __enter__(self):
        self.start, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()
        self.processors = self.seconds = 0.0
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.start
        used = busy_seconds() - self.busy - (own_seconds() - self.own)
        self.processors = max(0.0, used / max(self.seconds, 1 / TICKS))


def others_now():
    """Processors that other processes use, over a second. The load average lags a minute behind."""
    with Others() as others:
        time.sleep(1)
    return others.processors


def fixed_work():
    """Seconds of processor time that the same work takes, the median of five: packing 4 MB of text. A virtual machine's
    processors can be twice as fast on one day as on another."""
    text = b"".join(b"%x %d\n" % (number * number, number) for number in range(260000))[:4 << 20]

    def once():
        start = time.process_time()
        zlib.compress(text)
        return time.process_time() - start
    return sorted(once() for _ in range(5))[2]


def load():
    with open("/proc/loadavg", encoding="ascii") as average:
        return average.read().split()[:3]


def version_of(command):
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = NUMBER.search(done.stdout)
    return found[0] if found else done.stdout.strip()


def describe(spoor):
    """The machine, as the JSON file has it."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = re.search(r"(?m)^model name\s*: (.*)", info.read())
    with open("/proc/meminfo", encoding="ascii") as info:
        memory = int(info.readline().split()[1]) // 1024
    versions = {name: version_of(command) for name, command in {"spoor": [spoor, "--version"], **VERSIONS}.items()}
    return {"processor": model[1] if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_mb": memory, "kernel": platform.release(), "virtual": is_virtual(),
            "versions": {name: version for name, version in versions.items() if version}}


def is_virtual():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return " hypervisor" in info.read()
