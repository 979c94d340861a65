#!/usr/bin/env python3
"""page.py BUILD_FOLDER WEB_FOLDER HOSTILE.C VALUED.C COMPILER...: the page of `spoor view`.

Each module of the page keeps the rule that lets --html join them: imports of one line at its top,
and names that no other module has. Then page.js opens the page in Chromium, with a recording of
HOSTILE.C, in which functions have hostile names, and with one of VALUED.C, with values. Exits with 77 if Chromium, node or its package
playwright-core is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SPOOR = os.environ["SPOOR"]
HERE = os.path.dirname(os.path.realpath(__file__))
# Replaces a name in the program's file by one of the same length.
NAMES = {
    b"name_with_markup_xxxxxxxxxxxxxxxxxxxx": b"<img src=x onerror=window.harm=1><b>x",
    b"name_with_quotes_xxxxxxxxxxxxx": b"say \"it's\" `${1}` & </script>",
    b"name_with_newline_xxxxxxxxxxxx": b"two\nlines\tand\x1b[31m tabs <!-- ",
    b"name_with_bytes_xxxxxxxxxxxxxx": b"bad \xff\xfe\xc3 bytes \xe2\x80\xae right",
}
IMPORT = re.compile(r"import \{[^}\n]*\} from '\./\w+\.js';")
TOP_NAME = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) +(\w+)", re.M)


def skip(why):
    print(why)
    sys.exit(77)


def check_modules(web):
    """Fails if the modules could not be joined into one script."""
    owners = {}
    for name in sorted(os.listdir(web)):
        if not name.endswith(".js"):
            continue
        with open(os.path.join(web, name), encoding="utf-8") as file:
            text = file.read()
        assert text.count("\n") <= 400, f"{name} has more than 400 lines"
        for line in text.splitlines():
            assert not line.startswith("import") or IMPORT.fullmatch(line), f"{name}: {line}"
            assert not re.match(r"export (?!(async )?(function|const|class) )", line), f"{name}: {line}"
        for made in TOP_NAME.findall(text):
            assert made not in owners, f"{name} and {owners.get(made)} both have {made}"
            owners[made] = name


def install(folder):
    """Puts playwright-core into FOLDER, in the version of package-lock.json; kept for the next time."""
    os.makedirs(folder, exist_ok=True)
    old = os.path.join(folder, "package-lock.json")
    new = os.path.join(HERE, "package-lock.json")
    same = os.path.exists(old) and open(old, "rb").read() == open(new, "rb").read()
    if not same or not os.path.isdir(os.path.join(folder, "node_modules/playwright-core")):
        shutil.copy(os.path.join(HERE, "package.json"), folder)
        shutil.copy(new, folder)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode != 0:
            if os.path.exists(old):
                os.unlink(old)
            skip(f"playwright-core cannot be installed: {done.stdout.strip().splitlines()[-1:]}")
    for name in os.listdir(HERE):
        if name.endswith(".js"):
            shutil.copy(os.path.join(HERE, name), folder)


def build_hostile(folder, source, compiler):
    program = os.path.join(folder, "hostile")
    subprocess.run([*compiler, "-O2", "-pthread", source, "-o", program], check=True)
    with open(program, "rb") as file:
        code = file.read()
    for plain, hostile in NAMES.items():
        assert code.count(plain) == 1 and len(hostile) <= len(plain), plain
        code = code.replace(plain, hostile.ljust(len(plain), b"_"))
    with open(program, "wb") as file:
        file.write(code)
    return program


class Server:
    """`spoor view` of TRACES; `url` is what it prints."""

    def __init__(self, *traces):
        command = [SPOOR, "view", "--no-open", "--stay", *traces]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        return self.url

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def record(temporary, name, program, *options):
    trace = os.path.join(temporary, f"{name}.trace")
    subprocess.run([SPOOR, "record", "-q", *options, "-o", trace, "--", program], check=True)
    return trace


def write_page(temporary, name, trace, *options):
    page = os.path.join(temporary, f"{name}.html")
    subprocess.run([SPOOR, "view", f"--html={page}", *options, trace], stderr=subprocess.DEVNULL, check=True)
    return page


def main():
    build, web, source, valued, compiler = *sys.argv[1:5], sys.argv[5:]
    check_modules(web)
    for needed in ("node", "npm", "chromium"):
        if not shutil.which(needed):
            skip(f"{needed} is missing")
    folder = os.path.join(build, "test-page")
    install(folder)
    with tempfile.TemporaryDirectory() as temporary:
        trace = record(temporary, "hostile", build_hostile(temporary, source, compiler))
        program = os.path.join(temporary, "valued")
        subprocess.run([*compiler, "-g", "-O0", "-pthread", valued, "-o", program], check=True)
        values = record(temporary, "valued", program, "-a")
        pages = [write_page(temporary, "page", trace), values, write_page(temporary, "valued", values, "--values"),
                 write_page(temporary, "secret", values)]
        with Server(trace, trace) as url, Server(values) as values_url:
            done = subprocess.run(["node", os.path.join(folder, "page.js"), url, SPOOR, trace, *pages, values_url],
                                  check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
