"""Python: json, re, threads, exceptions, generators, a child."""
from real import real_program, which

SCRIPT = r'''
import collections, decimal, functools, hashlib, itertools, json, re, sqlite3, subprocess, sys
import threading, zlib

def document(n):
    return {"id": n, "name": f"item {n}", "tags": ["a" * (n % 5), None, True], "value": n / 7}

def parse(n):
    text = json.dumps([document(i) for i in range(n)], sort_keys=True)
    return hashlib.sha256(json.dumps(json.loads(text)).encode()).hexdigest()

def words():
    text = " ".join(f"word{i % 37} {i}, " for i in range(800))
    found = re.findall(r"\b(w\w+?)(\d+)\b\s+(\d+)", text)
    return collections.Counter(int(a) for _, a, _ in found).most_common(3)

class Refused(Exception):
    pass

def recurse(n):
    if n == 0:
        raise Refused("bottom")
    try:
        return recurse(n - 1)
    except Refused as e:
        raise Refused(f"{n}") from e
    finally:
        with lock: # += of several threads may lose some
            counts["finally"] += 1

def catch(n):
    try:
        recurse(n)
    except Refused as e:
        depth, at = 0, e
        while at:
            depth, at = depth + 1, at.__cause__
        return str(e), depth

def numbers(n):
    for i in range(n):
        yield functools.reduce(lambda a, b: a * b % 1000003, range(1, i + 2))

def body(results, n):
    results[n] = (parse(10 + n), sum(numbers(20)), catch(n))

counts, lock = collections.Counter(), threading.Lock()
results = [None] * 8
threads = [threading.Thread(target=body, args=(results, n)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
for r in results: print(r)
print(words(), counts)
print(decimal.Decimal(2).sqrt(decimal.Context(prec=60)), zlib.crc32(b"spoor" * 1000))
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values (?, ?)", ((i, str(i * i)) for i in range(300)))
print(base.execute("select count(*), sum(length(b)) from t where a % 3 = 1").fetchall())
print(subprocess.run([sys.executable, "-S", "-c", "import sys; print('child'); sys.exit(4)"],
                     capture_output=True))
try:
    [][1]
except IndexError:
    import traceback
    traceback.print_exc()
sys.exit(3)
'''

real_program([which("python3"), "-c", SCRIPT], status=3, processes=2, libcalls=True)
