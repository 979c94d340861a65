"""malloc.py SPOOR PROGRAM STATUS LIBRARY: a C++ program, and Python with threads, use LIBRARY's preloaded allocator."""
import os
import sys

from real import SKIP, real_program, run, which

PROGRAM, STATUS, LIBRARY = os.path.realpath(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
SCRIPT = r'''
import json, threading
def body(n):
    kept = [json.dumps({"id": i, "tags": ["a" * (i % 50)] * 5}) for i in range(1500)]
    sizes[n] = sum(len(json.loads(text)["tags"][0]) for text in kept)
sizes = [0] * 6
threads = [threading.Thread(target=body, args=(n,)) for n in range(6)]
for t in threads: t.start()
for t in threads: t.join()
print(sizes)
print([line.split("/")[-1].strip() for line in open("/proc/self/maps") if "malloc" in line][:1])
'''

preload = ["/usr/bin/env", f"LD_PRELOAD={LIBRARY}"]
if run([*preload, "/bin/true"]).stderr:
    print(f"{LIBRARY} is not installed")
    sys.exit(SKIP)
real_program([*preload, PROGRAM], status=STATUS)
real_program([*preload, which("python3"), "-c", SCRIPT])
