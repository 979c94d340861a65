"""USDT probes of real programs: counts and arguments as the programs themselves tell.
usdt.py SPOOR python|libstdc++|postgresql"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SPOOR = sys.argv[1]
SKIPPED = 77
POSTGRES = '/usr/lib/postgresql/15/bin'


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=240, **more)


def marks(trace):
    lines = map(json.loads, run(SPOOR, 'replay', '--json', trace).stdout.splitlines())
    return [line for line in lines if line['kind'] == 'mark']


def probes(file, provider):
    """How many notes of PROVIDER readelf finds."""
    return run('readelf', '-n', file).stdout.count(f'Provider: {provider}\n')


def python(folder):
    interpreter = '/usr/bin/python3.11'
    if not os.path.exists(interpreter) or not probes(interpreter, 'python'):
        sys.exit(SKIPPED)
    script = os.path.join(folder, 'script.py')
    with open(script, 'w') as file:
        file.write('def f(n):\n    return n + 1\n\nfor i in range(7):\n    f(i)\n')
    trace = os.path.join(folder, 't')
    names = 'python:function__entry', 'python:function__return'  # a glob would set no breakpoints
    chosen = [word for name in names for word in ('--usdt', name + '@arg1/s,arg2/s,arg3')]
    done = run(SPOOR, 'record', '-o', trace, '--trap-limit=1000000', *chosen, '--', interpreter, '-S', '-E', script)
    assert done.returncode == 0, done
    refused = run(SPOOR, 'record', '-o', trace + '.glob', '--usdt', 'python:*', '--', interpreter, '-S', '-E', script)
    assert refused.returncode == 0 and 'breakpoints only' not in refused.stderr, refused
    assert 'python:function__return is left out, as only a breakpoint fits there' in refused.stderr, refused
    calls = [(m['function'], *(arg['value'] for arg in m['args'])) for m in marks(trace)]
    calls = [call[0::2] + call[3:] for call in calls if call[1] == script]
    # Calls that the interpreter makes inline pass function__return only, as gdb's breakpoints show.
    names = [call[1] for call in calls if call[0] == 'python:function__return']
    assert names == ['f'] * 7 + ['<module>'], calls
    done = run(SPOOR, 'explain', interpreter)
    assert sum('python:' in line for line in done.stdout.splitlines()) == 8, done.stdout[-2000:]


def libstdcxx(folder):
    source, program = os.path.join(folder, 'throws.cc'), os.path.join(folder, 'throws')
    with open(source, 'w') as file:
        file.write('#include <cstdio>\n#include <stdexcept>\nint main() {\n'
                   '  int thrown = 0, caught = 0, rethrown = 0;\n'
                   '  for (int i = 0; i < 30; i++)\n    try {\n      try {\n        thrown++;\n'
                   '        throw std::runtime_error("x");\n      } catch (std::exception &e) {\n'
                   '        caught++;\n        if (i % 3 == 0) {\n          rethrown++;\n          throw;\n        }\n'
                   '      }\n    } catch (...) {\n      caught++;\n    }\n'
                   '  printf("%d %d %d\\n", thrown, caught, rethrown);\n}\n')
    subprocess.run(['g++', '-O1', '-o', program, source], check=True)
    trace = os.path.join(folder, 't')
    done = run(SPOOR, 'record', '-o', trace, '--usdt', 'libstdcxx:*', '--', program)
    counts = collections.Counter(m['function'].split(':')[1] for m in marks(trace))
    thrown, caught, rethrown = map(int, done.stdout.split())
    assert counts == {'throw': thrown, 'catch': caught, 'rethrow': rethrown}, (counts, done)


def postgresql(folder):
    server = POSTGRES + '/postgres'
    if not os.path.exists(server) or not shutil.which('runuser'):
        sys.exit(SKIPPED)
    os.chmod(folder, 0o777)
    user = ['runuser', '-u', 'postgres', '--'] if os.geteuid() == 0 else []
    spoor = shutil.copy(SPOOR, folder)  # another user may not reach where it is
    data, trace = os.path.join(folder, 'data'), os.path.join(folder, 't')
    assert run(*user, POSTGRES + '/initdb', '-N', '-D', data, cwd=folder).returncode == 0
    queries = ['create table t(a int)', 'insert into t select generate_series(1, 1000)',
               'select count(*) from t where a % 7 = 0', 'checkpoint']
    # A pattern leaves out the few that only breakpoints fit; whole names set them.
    tried = run(*user, spoor, 'record', '-o', trace, '--usdt', 'postgresql:*', '--', server, '--version', cwd=folder)
    left_out = re.findall(r'probe (postgresql:\S+) is left out', tried.stderr)
    assert tried.returncode == 0 and len(left_out) < 8, tried
    chosen = [word for name in ('postgresql:*', 'postgresql:query__start@arg1/s', *left_out) for word in ('--usdt', name)]
    done = run(*user, spoor, 'record', '-o', trace, *chosen, '--', server, '--single', '-D', data, 'postgres', cwd=folder,
               input=';\n'.join(queries) + ';\n')
    assert done.returncode == 0 and '"142"' in done.stdout and 'left out' not in done.stderr, done
    found = marks(trace)
    counts = collections.Counter(m['function'].split(':')[1] for m in found)
    asked = [m['args'][0]['value'].strip().rstrip(';') for m in found if m['function'].endswith(':query__start')]
    assert asked == queries, asked
    for begin, end in (('query__parse__start', 'query__parse__done'), ('transaction__start', 'transaction__commit'),
                       ('buffer__read__start', 'buffer__read__done'), ('smgr__md__write__start', 'smgr__md__write__done')):
        assert counts[begin] == counts[end] > 0, (begin, counts)
    shown = run(SPOOR, 'explain', server).stdout
    assert sum('postgresql:' in line for line in shown.splitlines()) == probes(server, 'postgresql'), shown[-3000:]


with tempfile.TemporaryDirectory() as made:
    {'python': python, 'libstdc++': libstdcxx, 'postgresql': postgresql}[sys.argv[2]](made)
