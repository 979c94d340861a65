#!/usr/bin/env python3
"""firefox.py HOSTILE.C COMPILER...: the page of `spoor view` in Firefox, served and in one file.

No package drives Debian's Firefox, but it makes a picture of a page without a window. So selfcheck.js, which is added
to the page, checks it from within and paints the outcome, and this reads the colours in the picture. Firefox makes
the picture when all scripts of the page have come; one more script comes late. If the checks were not all made by
then, it comes later the next time. Exits with 77 if Firefox is missing. KEEP=FOLDER keeps the pictures.
"""
import http.client
import http.server
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import zlib

import page

SPOOR, SOURCE, COMPILER = os.environ["SPOOR"], sys.argv[1], sys.argv[2:]
HERE = os.path.dirname(os.path.realpath(__file__))
WIDTH, HEIGHT, SQUARE, CHECKS = 1280, 720, 20, 6
GREEN, RED = (0, 160, 0), (200, 0, 0)
DELAYS = (4, 15, 60, 200)  # seconds until the last script comes
FIRST_TAG = re.compile(rb"<head>")


def unfiltered(kind, line, above, step):
    """A row of pixels (PNG, 9.2), whose filter is undone."""
    for i, value in enumerate(line):
        left, up, corner = (line[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
        if kind == 4:
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))
        line[i] = value + (0, left, up, (left + up) // 2, near[2] if kind == 4 else 0)[kind] & 255
    return line


def pixels(path):
    """Its rows, and the bytes of a pixel: eight bits for each colour, not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colours in (2, 6) and not interlaced, body
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    step = 3 if colours == 2 else 4
    raw, rows = zlib.decompress(packed), [bytearray(width * step)]
    for i in range(height):
        start = i * (width * step + 1)
        rows.append(unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + width * step]), rows[-1], step))
    return rows[1:], step


def outcome(path):
    """The colour of each check's square."""
    rows, step = pixels(path)
    row = rows[len(rows) - SQUARE // 2]
    return [tuple(row[(i * SQUARE + SQUARE // 2) * step:][:3]) for i in range(CHECKS)]


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to `spoor view`, and adds the scripts to its document."""
    delay, script, behind, tags = 0, b"", None, b""

    def log_message(self, *_):
        pass

    def give(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/late.js":
            time.sleep(Proxy.delay)
            self.give(b"", "text/javascript")
        elif self.path == "/selfcheck.js":
            self.give(Proxy.script, "text/javascript")
        elif Proxy.behind:
            try:
                self.pass_on()
            except (ConnectionError, http.client.HTTPException):
                pass  # one side has ended

    def pass_on(self):
        connection = http.client.HTTPConnection("127.0.0.1", Proxy.behind)
        connection.request("GET", self.path, headers={"X-Spoor-Token": self.headers.get("X-Spoor-Token", "")})
        answer = connection.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                self.send_header(name, value)
        self.end_headers()
        if self.path == "/":
            self.wfile.write(with_scripts(answer.read()))
            return
        while part := answer.read1(1 << 16):
            self.wfile.write(part)


def with_scripts(document):
    """In front of the policy that a file has, which would refuse them."""
    assert len(FIRST_TAG.findall(document)) == 1
    return FIRST_TAG.sub(lambda found: found[0] + Proxy.tags, document)


def picture(address, folder):
    """The path of Firefox's picture of ADDRESS."""
    path, home = os.path.join(folder, "picture.png"), tempfile.mkdtemp(dir=folder)
    command = ["firefox-esr", "--headless", "--profile", home, f"--window-size={WIDTH},{HEIGHT}", "--screenshot", path,
               address]
    plain = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(command, env={**plain, "HOME": home}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600, check=False)
    assert os.path.exists(path), done.stdout.decode(errors="replace")
    return path


def check(name, address, folder):
    for delay in DELAYS:
        Proxy.delay = delay
        path = picture(address, folder)
        colours = outcome(path)
        if os.environ.get("KEEP"):
            shutil.copy(path, os.path.join(os.environ["KEEP"], f"firefox-{name}.png"))
        if colours == [GREEN] * CHECKS:
            print(f"ok    {name}")
            return True
        if RED in colours:  # else some were not made yet
            break
    print(f"FAIL  {name}: {colours}")
    return False


def main():
    if not shutil.which("firefox-esr"):
        page.skip("firefox-esr is missing")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    Proxy.tags = (f'<script async src="{origin}/late.js"></script>'
                  f'<script defer src="{origin}/selfcheck.js"></script>').encode()
    with tempfile.TemporaryDirectory() as folder:
        trace, file = os.path.join(folder, "hostile.trace"), os.path.join(folder, "page.html")
        subprocess.run([SPOOR, "record", "-q", "-o", trace, "--", page.build_hostile(folder, SOURCE, COMPILER)], check=True)
        rows = json.loads(subprocess.run([SPOOR, "report", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)
        for row in rows:  # as the page shows it (format.js)
            row["function"] = re.sub("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "\ufffd", row["function"])
        with open(os.path.join(HERE, "selfcheck.js"), encoding="utf-8") as script:
            Proxy.script = script.read().replace("EXPECTED;", json.dumps(rows) + ";").encode()
        subprocess.run([SPOOR, "view", f"--html={file}", trace], stderr=subprocess.DEVNULL, check=True)
        with open(file, "rb") as document:
            text = with_scripts(document.read())
        with open(file, "wb") as document:
            document.write(text)
        passed = check("one-file", "file://" + file, folder)
        with subprocess.Popen([SPOOR, "view", "--no-open", "--stay", trace], stdout=subprocess.PIPE, text=True) as view:
            address = urllib.parse.urlsplit(view.stdout.readline().strip())
            Proxy.behind = address.port
            passed &= check("served", f"{origin}/#{address.fragment}", folder)
            view.terminate()
    sys.exit(not passed)


if __name__ == "__main__":
    main()
