"""What a program prints on a terminal of a given width."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


def on_terminal(columns, command, **environment):
    """The lines that COMMAND prints on a terminal of COLUMNS columns, without colours and without a pager."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    clean = {name: value for name, value in os.environ.items() if name not in ("PAGER", "LESS")}
    chunks = []
    with subprocess.Popen(command, stdout=slave, stdin=slave,
                          env={**clean, "TERM": "xterm", "PAGER": "cat", "NO_COLOR": "1", **environment}) as process:
        os.close(slave)
        try:
            while chunk := os.read(master, 65536):
                chunks.append(chunk)
        except OSError:  # the end of a terminal's output
            pass
    os.close(master)
    assert process.returncode == 0, (command, process.returncode)
    return b"".join(chunks).decode().replace("\r\n", "\n").splitlines()
