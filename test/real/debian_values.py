#!/usr/bin/env python3
"""Debian's sqlite3 or redis, built from its source with debugging information: record -a shows what gdb does.

    debian_values.py SPOOR COMPARE_RECORD.PY KEEP PACKAGE ['COMPILER OPTION...'...]

The source is fetched into the folder KEEP once. sqlite3 is compiled with each COMPILER; redis as its own Makefile does,
with libc's malloc() and without random numbers, on which the order of its objects depends.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SPOOR, COMPARE, KEEP = (os.path.abspath(word) for word in sys.argv[1:4])
PACKAGE = sys.argv[4]
SKIPPED = 77
SQL = """create table t(a integer primary key, b text, c real);
create index tb on t(b);
with recursive n(i) as (select 1 union all select i+1 from n where i<50) insert into t select i, 'row '||i, i*1.5 from n;
select count(*), sum(c), group_concat(b, ',') from t where a % 3 = 0 group by a/10 order by 1 desc limit 5;
create view v as select * from t where b like 'row 1%';
select * from v join t using(a) where t.c > 5;
create table log(x, y);
create trigger tr after update on t begin insert into log values(new.a, old.b); end;
update t set b = upper(b) where a < 5;
delete from t where a > 40;
select json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b'), printf('%08.3f|%s|%d', 3.14159, 'x', 77), quote('it''s');
create virtual table f using fts5(body);
insert into f values('the quick brown fox'),('jumped over');
select * from f where f match 'quick OR over';
select row_number() over (order by c), lag(a) over (order by a) from t limit 4;
explain query plan select * from t where b='row 7';
begin; savepoint s; insert into t values(1000,'z',0); rollback to s; commit;
pragma integrity_check; vacuum; analyze;
select 1 where exists(select 1 from log where x=3) union select 1 except select 3;
.mode csv
select * from t limit 2;
.schema
alter table t add column d; alter table log rename to log2; drop table log2; select * from nosuch;
"""
COMMANDS = """SELECT 0|SET k1 v1|SETEX k2 100000 v2|APPEND k1 more|INCR n|INCRBYFLOAT f 1.5|RPUSH l a b c d|LPUSH l z
LINSERT l BEFORE b x|LTRIM l 0 3|SADD s a b c|SADD si 1 2 3|SINTERSTORE d s si|SUNIONSTORE d2 s si|HSET h f1 v1 f2 v2
HINCRBY h n 5|ZADD z 1 a 2 b 3 c|ZINCRBY z 2.5 a|ZUNIONSTORE z2 1 z WEIGHTS 2|XADD st 1-1 a 1 b 2|XGROUP CREATE st g 0
PFADD p a b c|PFMERGE p2 p|GEOADD geo 13.361389 38.115556 Palermo|SETBIT b 7 1|BITFIELD b SET u8 0 200|EXPIRE k1 100000
RENAME k1 k3|COPY k3 k4|MULTI|SET in tx|INCR n|EXEC|SORT l ALPHA STORE sorted|EVAL return(redis.call('set','lua','1')) 0
DEL k2|LPOP l|SMOVE s si a|GETSET k3 new|SETRANGE k3 2 zz|FLUSHALL"""
LIMITS = {"sqlite3": "7,8", "redis": "1,1.5"}  # of unknown arguments and results in percent
CONFIGURATION = 'port 0\nunixsocket socket\nsave ""\ndaemonize no\nappendonly yes\nactiverehashing no\n'


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
    if done.returncode:
        print(*command, done.stdout[-2000:])
        sys.exit(1)


def source_of(package):
    """The folder of the unpacked source."""
    keep = Path(KEEP) / package
    if not (keep / "fetched").exists():
        shutil.rmtree(keep, ignore_errors=True)
        (keep / "lists" / "partial").mkdir(parents=True)
        listed = "".join(Path(path).read_text(encoding="utf-8") for path in glob.glob("/etc/apt/sources.list.d/*.sources"))
        mirror = re.search(r"^URIs: *(\S+)", listed, re.M)
        if not mirror:
            print("this machine's sources of packages name no server")
            sys.exit(SKIPPED)
        (keep / "sources").write_text(f"deb-src {mirror[1]} bookworm main\n")
        options = [word for setting in (f"Dir::State::Lists={keep}/lists", f"Dir::Etc::sourcelist={keep}/sources",
                                        "Dir::Etc::sourceparts=/dev/null", f"Dir::Cache={keep}/cache", "APT::Sandbox::User=root")
                   for word in ("-o", setting)]
        for words in (["update", "--error-on=any"], ["source", package]):
            if subprocess.run(["apt-get", "-q", *options, *words], cwd=keep, capture_output=True, check=False).returncode:
                print(f"{package}: its source cannot be fetched from Debian")
                sys.exit(SKIPPED)
        (keep / "fetched").touch()
    return next(path for path in keep.iterdir() if path.is_dir() and path.name.startswith(f"{package}-"))


def sqlite(source, compilers):
    if not (source / "shell.c").exists():
        run("./configure", "--disable-tcl", "--disable-shared", "--enable-static", cwd=source)
        run("make", "sqlite3.c", "shell.c", cwd=source)
    script = source / "script.sql"
    script.write_text(SQL)
    options = f" -DSQLITE_ENABLE_FTS5 -DSQLITE_THREADSAFE=0 -I{source} {source}/sqlite3.c"
    builds = [word for compiler in compilers for word in ("--build", compiler + options)]
    return [*builds, "--input", script, SPOOR, source / "shell.c"]


def log_of_commands():
    """What a server reads when it begins: that takes no clock and no client. It ends at what is no command."""
    out = ""
    for line in re.split(r"[|\n]", COMMANDS):
        words = line.split(" ")
        out += f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    return out + "end\r\n"


def redis(source, folder):
    program = source / "src" / "redis-server"
    if not program.exists():
        util = source / "src" / "util.c"
        util.write_text(util.read_text().replace('"/dev/urandom"', '"/dev/zero"'))
        run("make", "-C", "src", "-j2", "redis-server", "MALLOC=libc", "OPTIMIZATION=-O2 -g", cwd=source)
    (folder / "appendonlydir").mkdir()
    (folder / "appendonlydir" / "appendonly.aof.1.base.aof").write_bytes(log_of_commands().encode())
    (folder / "appendonlydir" / "appendonly.aof.manifest").write_text("file appendonly.aof.1.base.aof seq 1 type b\n")
    (folder / "server.conf").write_text(CONFIGURATION)
    return ["--heap-moves", SPOOR, program, "server.conf"]


def main():
    if missing := [tool for tool in ("gdb", "dpkg-source", "tclsh", "make") if not shutil.which(tool)]:
        print(f"{', '.join(missing)} is missing")
        return SKIPPED
    source = source_of(PACKAGE)
    with tempfile.TemporaryDirectory() as folder:
        words = redis(source, Path(folder)) if PACKAGE == "redis" else sqlite(source, sys.argv[5:])
        return subprocess.run([sys.executable, COMPARE, "--at-most", LIMITS[PACKAGE], "--most", "2",
                               *words], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
