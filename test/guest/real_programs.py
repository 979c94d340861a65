"""Programs of Debian that run in a guest: (name, command, expected output)."""

PACKAGES = ["python3", "sqlite3", "git", "bash", "xz-utils", "coreutils"]

PYTHON = """
import collections, json, re, threading
words = re.findall(r"[a-z]+", "the quick brown fox jumps over the lazy dog, the end" * 20)
counts = collections.Counter(words)
found = []
workers = [threading.Thread(target=lambda n=n: found.append(sum(i * i for i in range(n)))) for n in (10, 200, 3000)]
for worker in workers: worker.start()
for worker in workers: worker.join()
try:
    json.loads("{")
except ValueError as error:
    print(type(error).__name__)
print(json.dumps(sorted(counts.items())[:3]), sorted(found))
"""

SQLITE = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) insert into t select i, hex(i) from n;
create index by_b on t(b);
select count(*), sum(a), max(b) from t where b like '3%';
"""

GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
rm -rf r && git init -q -b one r && cd r && for i in 1 2 3; do echo $i >>f && git add f && git commit -qm "change $i"; done
git log --format='%s %an' && git diff --stat HEAD~2 | tail -1 && git fsck && rm -rf ../r
"""

BASH = """
f() { local n=$1; if ((n < 2)); then echo $n; else echo $(( $(f $((n - 1))) + $(f $((n - 2))) )); fi; }
declare -A seen; for w in a b a c; do (( seen[$w]++ )); done
echo $(f 6) ${seen[a]} $(echo one two | { read x y; echo $y; })
trap 'echo caught' USR1; kill -USR1 $$; wait
"""

XZ = "seq 1 20000 | xz -6 | xz -d | cksum"

PROGRAMS = [
    ("python3", ["/usr/bin/python3", "-c", PYTHON],
     'JSONDecodeError\n[["brown", 20], ["dog", 20], ["end", 1]] [285, 2646700, 8995500500]\n'),
    ("sqlite3", ["/usr/bin/sqlite3", ":memory:", SQLITE], "500|125250|3939\n"),
    ("git", ["/bin/bash", "-c", GIT],
     "change 3 a\nchange 2 a\nchange 1 a\n 1 file changed, 2 insertions(+)\n"),
    ("bash", ["/bin/bash", "-c", BASH], "8 2 two\ncaught\n"),
    ("xz", ["/bin/bash", "-c", XZ], "3231941463 108894\n"),
]
