"""PostgreSQL under pgbench: attaches to the postmaster, which forks a process for each connection, or to these
processes (--backends)."""
import atexit
import glob
import os
import pwd
import re
import subprocess
import sys

from serving import SKIP, Failure, Kind, Period, check, generator, which
from visiting import serve

USER = "postgres"
FOLDERS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
if os.geteuid() or not FOLDERS or USER not in (entry.pw_name for entry in pwd.getpwall()):
    print("PostgreSQL is not installed, or we may not become its user")
    sys.exit(SKIP)
AS_USER = [which("setpriv"), f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--reset-env"]


def program(name):
    return os.path.join(FOLDERS[-1], name)


def do(*command):
    done = subprocess.run([*AS_USER, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, f"{' '.join(command)}: {done.stdout.decode()}")


def start(port):
    data, single = os.path.realpath("data"), [program("pg_ctl"), "-w", "-D"]
    os.mkdir(data, 0o700)
    os.chown(data, *pwd.getpwnam(USER)[2:4])
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {data}"
    do(program("initdb"), "-A", "trust", "-N", "--no-locale", "-D", data)
    do(*single, data, "-l", f"{data}/log", "-o", options, "start")
    do(program("pgbench"), *address(port), "-i", "-q")
    do(*single, data, "-m", "fast", "stop")
    return [*AS_USER, program("postgres"), "-D", data, "-F", *options.split()]


def address(port):
    return "-h", "127.0.0.1", "-p", str(port), "-U", USER, USER


def pgbench(port, seconds, *options):
    """A period of requests. On a busy machine pgbench may spend all time on connecting; then it prints no rate."""
    text, took, failed = generator([program("pgbench"), "-n", "-T", str(max(1, round(seconds))), *options,
                                    *address(port)], seconds)
    done = re.search(r"transactions actually processed: (\d+)", text)
    rate = re.search(r"tps = ([0-9.]+) \(", text)
    if failed or not done or "number of failed transactions: 0 " not in text:
        return Period(0, took, text)
    return Period(int(done[1]), int(done[1]) / float(rate[1]) if rate else took, "")


def ask(port, query):
    """The first column of all rows of the answer."""
    text, _, failed = generator([program("psql"), "-At", *address(port), "-c", query], 1)
    check(not failed, f"psql: {text}")
    return text.split()


def answers(port):
    try:
        return ask(port, "select 6 * 7") == ["42"]
    except Failure:
        return False


def load(port, seconds):
    return pgbench(port, seconds, "-c", "4", "-S")


def load_connecting(port, seconds):
    return pgbench(port, seconds, "-c", "2", "-C")


HELD = {}  # {port: pgbench with clients that stay connected as long as the server runs}


def hold(port):
    # pylint: disable=consider-using-with
    HELD[port] = subprocess.Popen(
        [program("pgbench"), "-n", "-T", "100000", "-c", "2", *address(port)],
        env={**os.environ, "PGAPPNAME": "held"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(HELD[port].kill)


def backends(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
        port = int(re.search(r"-p\0(\d+)", words.read())[1])
    if port not in HELD:
        hold(port)
    while True:
        check(HELD[port].poll() is None, "a client has given up")
        found = ask(port, "select pid from pg_stat_activity where application_name = 'held'")
        if len(found) == 2:
            return [int(word) for word in found]


def work(port, pid):
    """Returns when PID has done a whole transaction from now on: the second one that is seen. It began after this
    call, and has ended when a third one is seen."""
    seen = set()
    while len(seen) < 3:
        seen.update(ask(port, f"select extract(epoch from xact_start) from pg_stat_activity "
                              f"where pid = {pid}"))


def postmaster(pid):
    return [pid]


POSTMASTER = Kind(
    start, [load, load_connecting], pids=postmaster,
    ways=([], ["-M", "*"], ["-F", "ExecutorRun"], ["-M", "*", "--overflow=wait"],
          ["--overflow=wait", "--no-follow", "-M", "*"]),
    answers=answers, wrong=r"ERROR|FATAL(?!.*starting up)|PANIC|WARNING|terminated by")
AT_WORK = POSTMASTER._replace(pids=backends, works=work)

if __name__ == "__main__":
    serve(AT_WORK if "--backends" in sys.argv else POSTMASTER)
