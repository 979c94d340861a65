"""What it takes to start a program under spoor, with an empty cache of plans and with a full one."""
import os
import shutil
import subprocess

from measure import Table, cell, median, planning_seconds, present, run, seconds

TEXT = ("Start to end of programs that do little. Cold: nothing is known of the files yet; warm: a recording like this "
        "went before, with the same XDG_CACHE_HOME. Added: warm without the untraced time. Stood: how long the "
        "processes waited for plans and patches, as the warm trace tells.")


def rustc():
    """The compiler itself: the command in PATH may be a program that looks for it."""
    if not shutil.which("rustc"):
        return "rustc"
    done = subprocess.run(["rustc", "--print", "sysroot"], stdout=subprocess.PIPE, text=True, check=False)
    path = os.path.join(done.stdout.strip(), "bin", "rustc")
    return path if os.path.exists(path) else "rustc"


def programs(bench):
    """{name: (program, options)}"""
    empty = bench.path("empty.c")
    with open(empty, "w", encoding="ascii"):
        pass
    commands = present({"true": ["true"], "gcc -S": ["gcc", "-S", empty, "-o", os.devnull],
                        "node": ["node", "-e", "0"], "llc": ["llc", "--version"], "rustc": [rustc(), "-vV"],
                        "ffmpeg": ["ffmpeg", "-version"], "octave": ["octave", "--version"],
                        "R": ["R", "--version"]})
    everything = "true", "llc", "rustc", "ffmpeg", "octave", "R"
    table = {name: (command, ["-M", "*"] if name in everything else []) for name, command in commands.items()}
    if "gcc -S" in commands:
        table["gcc -S, all modules"] = (commands["gcc -S"], ["-M", "*"])
    return table


def measure_one(bench, command, options):
    """Seconds in three columns, and the last command."""
    cache = bench.path("start-cache")
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    traced = [*bench.record(*options), *command]
    untraced, cold, warm = [], [], []
    for _ in range(bench.rounds):
        shutil.rmtree(cache, ignore_errors=True)
        untraced.append(seconds(command))
        cold.append(seconds(traced, env=environment))
        warm.append(seconds(traced, env=environment))
    return untraced, cold, warm, traced


def measure(bench):
    table = Table("Start to end", ["untraced, ms", "cold, ms", "warm, ms", "added, ms", "stood, ms", "functions"],
                  TEXT, plot=[0, 1, 2])
    for name, (command, options) in programs(bench).items():
        untraced, cold, warm, traced = measure_one(bench, command, options)
        info = bench.info()
        table.row(name, [cell([s * 1e3 for s in samples]) for samples in (untraced, cold, warm)] +
                  [cell([(s - median(untraced)) * 1e3 for s in warm]), planning_seconds(info) * 1e3,
                   info["functions"]["instrumented"]], bench.shown(traced))
    if shutil.which("uftrace"):
        peer = ["uftrace", "record", "-d", bench.path("uftrace.data"), "-P", ".", "true"]
        run(peer)
        values = [seconds(peer) * 1e3 for _ in range(bench.rounds)]
        table.row("true, by uftrace, dynamic", [None, None, cell(values), None, None, None], bench.shown(peer))
    return [table]
