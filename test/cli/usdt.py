"""record --usdt: every form of operands, counters (semaphores) up and down, views, damaged notes.
usdt.py SOURCE HEADER-SOURCE CC…     usdt.py SPOOR PROGRAM: what differs between machines, of the compiled SOURCE"""
import csv
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

SPOOR = os.environ.get('SPOOR')


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=120, **more)


def spoor(*args, fails=False):
    done = run(SPOOR, *args)
    assert fails == (done.returncode != 0), (args, done)
    return done


def record(folder, program, args, *options):
    trace = os.path.join(folder, 't')
    done = spoor('record', '-o', trace, *options, '--', program, *args)
    return trace, done


def marks(trace):
    lines = [json.loads(line) for line in spoor('replay', '--json', trace).stdout.splitlines()]
    return [line for line in lines if line['kind'] == 'mark']


def number(value):
    """Numbers beyond 2^53 are texts in JSON."""
    return int(value) if isinstance(value, str) and value.lstrip('-').isdigit() else value


def values(mark):
    return [number(arg['value']) for arg in mark['args']]


WIDE = 0x1122334455667788
# Of each machine: registers; memory behind the name, which is the fifth argument; floats.
FORMS = {
    'x86_64': ([WIDE, 0x55667788, 0x7788, -0x78, 0x77, 2**64 - 2, -2, 0xfffe, -3, 0xfffe, 5, 2**64 - 7],
               [300, 200, 77, None, -41]),
    'aarch64': ([WIDE, 0x55667788, 0x7788, -0x78, 2**64 - 2, -2, 0xfffe, -3, 0xfffe, 5, 2**64 - 7],
                [300, 300, 77, None]),
    'arm': ([0x55667788, 0x55667788, 0x7788, -0x78, 2**32 - 2, -2, 0xfffe, -3, 0xfffe, 5, 2**32 - 7],
            [300, 200, 77, None]),
}


def check_forms(folder, program):
    trace, done = record(folder, program, ['forms'], '--usdt', 'demo:*')
    found = {mark['function']: mark for mark in marks(trace)}
    name = int(done.stdout, 16)
    registers, memory = FORMS['arm' if os.uname().machine.startswith('arm') else os.uname().machine]
    assert values(found['demo:registers']) == registers, found
    assert values(found['demo:memory'])[:5 + len(memory)] == [-12, 4000000000, 2.5, -3, name, *memory], found
    assert values(found['demo:floats'])[:2] == [1.25, -0.5], found
    trace, done = record(folder, program, ['forms'], '--usdt', 'demo:memory@arg5/s,arg1,arg2/x,arg99')
    assert values(marks(trace)[0]) == ['a name', -12, '0xee6b2800'], marks(trace)
    text = spoor('replay', trace).stdout
    assert 'demo:memory(arg5="a name", arg1=-12, arg2=0xee6b2800)' in text, text
    if len(memory) > 4:  # at a symbol
        trace, _ = record(folder, program, ['forms'], '--usdt', 'demo:memory@arg11/s')
        assert values(marks(trace)[0]) == ["a symbol's"], marks(trace)


def check_page(trace, rows, found):
    """The page has the rows of report, and the marks of replay with their values, one by one or joined."""
    import viewing  # here, as it needs the environment of the test, which scripts in guests do not have

    server = viewing.Server(trace)
    server.wait_for_summary()
    assert server.json('/api/functions') == rows, rows
    middle = found[len(found) // 2]['t_ns']
    assert server.get(f'/api/functions?since={middle}') == spoor('report', '--json', f'--since={middle}ns', trace).stdout.encode()

    def asked(query):
        return [mark for mark in server.json(f'/api/marks?{query}') if mark['kind'] == 'usdt']
    wanted = [(mark['t_ns'], mark['function']) for mark in found]
    assert [(mark['t_ns'], mark['text']) for mark in asked('limit=5000')] == wanted
    assert [(mark['t_ns'], mark['text']) for mark in asked('limit=3&last=1')] == wanted[-3:]
    turns = [mark['args'] for mark in asked('limit=5000&values=1') if mark['text'] == 'demo:turn']
    assert turns == [f'arg1={i}' for i in range(50)], turns
    joined = asked('joined=4&limit=5000')
    assert len(joined) <= 8 and sum(mark['marks'] for mark in joined) == len(found), joined
    again = viewing.Server(trace)  # from the summary's file
    again.wait_for_summary()
    assert again.json('/api/marks?limit=5000') == server.json('/api/marks?limit=5000')
    for one in server, again:
        assert one.end() == (0, ''), one


def check_views(folder, program):
    plain = run(program, 'runs', '50').stdout
    trace, done = record(folder, program, ['runs', '50'], '--usdt', 'demo:*', '-F', 'turn', '-N', 'demo:single')
    assert done.stdout == plain and ', 100 events, 0 lost' in done.stderr, done
    found = marks(trace)
    turns = [mark for mark in found if mark['function'] == 'demo:turn']
    assert [values(mark)[0] for mark in turns] == list(range(50)), turns
    assert all(mark['depth'] == 1 for mark in found), found
    assert len(found) == 100, len(found)
    rows = json.loads(spoor('report', '--json', trace).stdout)
    counts = {row['mark']: row['count'] for row in rows if 'mark' in row}
    calls = {row['function']: row['calls'] for row in rows if 'function' in row}
    assert counts == {'demo:turn': 50, 'demo:again': 50} and calls == {'turn': 50}, rows
    assert '50 marks demo:turn' in spoor('report', trace).stdout
    events = json.loads(spoor('export', '--format=chrome', trace).stdout)
    events = events['traceEvents'] if isinstance(events, dict) else events
    assert sum(e['ph'] == 'i' and e['name'] == 'demo:turn' for e in events) == 50, events[:9]
    check_page(trace, rows, found)
    trace, done = record(folder, program, ['runs', '50'], '--usdt', 'demo:turn')
    lines = [json.loads(line) for line in spoor('replay', '--json', trace).stdout.splitlines()]
    assert sum(line['kind'] == 'entry' for line in lines) == 0, lines
    assert len(marks(trace)) == 50
    assert ', 50 marks, 0 lost' in done.stderr, done
    assert 'marks      of USDT probes: see report' in spoor('info', trace).stdout


def exported(folder, trace, form, *options):
    """[(name, value of its argument or None)] of the marks in the export, by a reader of the format."""
    out = os.path.join(folder, 'out')
    shutil.rmtree(out, ignore_errors=True)
    if form == 'csv':
        rows = csv.DictReader(io.StringIO(spoor('export', '-f', form, *options, trace).stdout))
        rows = [row for row in rows if row['how'] == 'mark']
        assert all(row['start_ns'] and not row['duration_ns'] and None not in row for row in rows), rows
        return [(row['function'], json.loads(row['args'])[0]['value'] if row.get('args') else None) for row in rows]
    if form == 'json':
        lines = [json.loads(line) for line in spoor('export', '-f', form, *options, trace).stdout.splitlines()]
        return [(line['function'], line['args'][0]['value'] if line.get('args') else None)
                for line in lines if line['kind'] == 'mark']
    if form == 'chrome':
        events = json.loads(spoor('export', '-f', form, *options, trace).stdout)['traceEvents']
        return [(e['name'], e['args']['arguments']['arg1'] if 'args' in e else None)
                for e in events if e['ph'] == 'i' and e['name'].startswith('demo:')]
    spoor('export', '-f', form, *options, '-o', out, trace)
    if form == 'ctf':
        text = run('babeltrace2', out).stdout
        found = re.findall(r'spoor:mark: .*mark = \( "([^"]*)" .*?(?:args = "(?:arg1=(\d+)|-)")? \}', text)
    else:
        exports = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../unit/cmd/exports')
        with open(out, 'rb') as file:
            text = subprocess.run(['protoc', '--decode=perfetto_test.Whole', f'--proto_path={exports}', 'perfetto.proto'],
                                  stdin=file, stdout=subprocess.PIPE, text=True, check=True).stdout
        os.unlink(out)
        names = dict(re.findall(r'event_names \{\s+iid: (\d+)\s+name: "([^"]*)"', text))
        found = []
        for event in re.findall(r'track_event \{\n(.*?)\n  \}', text, re.S):
            mark = re.search(r'TYPE_INSTANT\n    name_iid: (\d+)', event)
            if mark:
                found.append((names[mark[1]], ''.join(re.findall(r'int_value: (\d+)', event))))
    return [(name, int(value) if value else None) for name, value in found]


def check_exports(folder, program):
    trace, _ = record(folder, program, ['runs', '5'], '--usdt', 'demo:turn', '--usdt', 'demo:again', '-F', 'turn')
    needed = {'ctf': 'babeltrace2', 'perfetto': 'protoc'}
    for form in 'csv', 'json', 'chrome', 'ctf', 'perfetto':
        if form in needed and not shutil.which(needed[form]):
            continue
        for options in (), ('--values',):
            wanted = [(name, i if options and name == 'demo:turn' else None)
                      for i in range(5) for name in ('demo:turn', 'demo:again')]
            assert exported(folder, trace, form, *options) == wanted, (form, exported(folder, trace, form, *options))


class Waiting:
    """The program that prints its counters at each line of its input."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, 'waits'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.counters() == '0 0'

    def counters(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0, self.process.returncode


def attach(folder, waiting, *options):
    """Attaches a spoor, and returns it when it records."""
    tool = subprocess.Popen([SPOOR, 'attach', '-o', os.path.join(folder, 'a'), *options, str(waiting.process.pid)],
                            stderr=subprocess.PIPE, text=True)
    while run(SPOOR, 'ctl', str(waiting.process.pid), 'status').returncode:
        assert tool.poll() is None, tool.stderr.read()
    return tool


def check_counters(folder, program):
    for chosen, expected in (('demo:turn', '1 0'), ('demo:*', '1 1'), ('demo:single', '0 1')):
        waiting = Waiting(program)
        tool = attach(folder, waiting, '--usdt', chosen)
        assert waiting.counters() == expected, (chosen, expected)
        spoor('ctl', str(waiting.process.pid), 'pause')
        assert waiting.counters() == '0 0', chosen
        spoor('ctl', str(waiting.process.pid), 'resume')
        assert waiting.counters() == expected, chosen
        spoor('ctl', str(waiting.process.pid), 'filter', '--usdt', 'demo:again')
        assert waiting.counters() == '1 0', chosen
        tool.send_signal(signal.SIGINT)
        tool.communicate(timeout=60)
        assert waiting.counters() == '0 0', chosen
        waiting.end()


def check_killed(folder, program):
    waiting = Waiting(program)
    tool = attach(folder, waiting, '--usdt', 'demo:*')
    assert waiting.counters() == '1 1'
    tool.kill()
    tool.communicate()
    assert waiting.counters() == '1 1'
    spoor('detach', str(waiting.process.pid))
    assert waiting.counters() == '0 0'
    tool = attach(folder, waiting, '--usdt', 'demo:*')
    assert waiting.counters() == '1 1'
    tool.send_signal(signal.SIGINT)
    tool.communicate(timeout=60)
    assert waiting.counters() == '0 0'
    waiting.end()


def check_forks(folder, program):
    trace, done = record(folder, program, ['forks'], '--usdt', 'demo:*')
    assert done.stdout == '1 1\n1 1\n' and len(marks(trace)) == 3, done
    trace, done = record(folder, program, ['forks'], '--usdt', 'demo:*', '--no-follow')
    assert done.stdout == '0 0\n1 1\n' and not marks(trace), done


def note_section(elf):
    """Offset and size of .note.stapsdt."""
    shoff, = struct.unpack_from('<Q', elf, 40)
    size, count, names = struct.unpack_from('<HHH', elf, 58)
    headers = [struct.unpack_from('<IIQQQQ', elf, shoff + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        if elf[at:elf.index(b'\0', at)] == b'.note.stapsdt':
            return offset, length
    raise AssertionError('no notes')


def check_damaged(folder, program):
    elf = bytearray(open(program, 'rb').read())
    offset, _ = note_section(elf)
    damages = {'size': (offset + 4, b'\xff\xff\xff\x7f'), 'address': (offset + 20, b'\xff' * 8),
               'counter': (offset + 36, b'\x40' + bytes(7))}
    for what, (at, new) in damages.items():
        broken = os.path.join(folder, 'broken-' + what)
        with open(broken, 'wb') as file:
            file.write(elf[:at] + new + elf[at + len(new):])
        os.chmod(broken, 0o755)
        done = run(SPOOR, 'record', '-o', os.path.join(folder, 'b'), '--usdt', 'demo:*', '--', broken, 'runs', '3')
        assert done.stdout == run(program, 'runs', '3').stdout, (what, done)
        assert done.stderr.count('damaged notes of USDT probes') == 1, (what, done)


def check_breakpoints(folder, program):
    """Only a full name asks for a breakpoint."""
    refusal = 'usdt: probe demo:tight is left out, as only a breakpoint fits there'
    for chosen in ['demo:*'], ['/demo:tight/'], ['demo:t*', '--usdt', 'demo:turn']:
        trace, done = record(folder, program, ['tight'], '--usdt', *chosen)
        assert done.stderr.count(refusal) == 1 and '--usdt demo:tight, its full name, sets it' in done.stderr, done
        assert 'breakpoints only' not in done.stderr and not marks(trace), done
    for chosen in ['demo:tight'], ['demo:tight@arg1', '--usdt', 'demo:*'], ['demo:*', '--tier=trap']:
        trace, done = record(folder, program, ['tight'], '--usdt', *chosen)
        assert refusal not in done.stderr and 'breakpoints only' in done.stderr, done
        assert [(mark['function'], *values(mark)) for mark in marks(trace)] == [
            ('demo:tight', 2), ('demo:tight', 1), ('demo:tight', 0)], marks(trace)


def check_messages(folder, program):
    done = run(SPOOR, 'record', '-o', os.path.join(folder, 'm'), '--usdt', 'none:*', '--', program, 'runs', '3')
    assert "--usdt 'none:*': matches no probe" in done.stderr, done
    done = run(SPOOR, 'record', '--usdt', 'demo:*@x->y', '--', program)
    assert done.returncode and 'probes have arg1' in done.stderr, done


def check_header(folder, source, compiler):
    """Probes of systemtap's own header: the compiler chooses the operands."""
    program = os.path.join(folder, 'header')
    for level in '-O0', '-O1', '-O2', '-O3', '-Os':
        made = run(*compiler, level, '-o', program, source)
        if 'sys/sdt.h: No such file' in made.stderr or "'sys/sdt.h' file not found" in made.stderr:
            print('without systemtap-sdt-dev: its header is not tested')
            return
        assert made.returncode == 0, made
        # Whole names: where no jump fits, as at the end of a function, they get breakpoints.
        trace, done = record(folder, program, [], '--usdt', 'header:narrow', '--usdt', 'header:wide', '--usdt',
                             'header:twelve', '--usdt', 'header:none', '--usdt', 'header:places@arg1,arg2,arg3,arg4,arg5,arg6,arg7/s')
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        assert printed.pop() == ['counters', 1, 1, 1, 1, 1], (level, done)
        found = [[mark['function'].removeprefix('header:'), *(values(mark) if 'args' in mark else [])] for mark in marks(trace)]
        assert found == printed and len(found) == 10, (level, found, printed)
        alone = run(program).stdout.splitlines()
        assert alone[:-1] == done.stdout.splitlines()[:-1] and alone[-1] == '["counters", 0, 0, 0, 0, 0]', alone


def main():
    global SPOOR
    source, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if not source.endswith('.c'):
            SPOOR, program = source, *compiler
            for check in (check_forms, check_counters, check_killed, check_forks):
                check(folder, program)
            return
        header, *compiler = compiler
        program = os.path.join(folder, 'usdt')
        subprocess.run([*compiler, '-O1', '-o', program, source], check=True)
        for check in (check_forms, check_views, check_exports, check_counters, check_killed, check_forks, check_damaged,
                      check_breakpoints, check_messages):
            check(folder, program)
        check_header(folder, header, compiler)


main()
