"""A client of QEMU's gdb server: reads registers and memory, executes single instructions."""
import os
import socket
import struct
import subprocess
import time


class Stub:
    """A program in QEMU, stopped before its first instruction. COMMAND makes QEMU listen at the socket PATH."""

    def __init__(self, command, path, registers):
        self.registers = registers  # a struct format, and names
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.received = b""
        self.connect(path)
        self.ask("?")

    def connect(self, path):
        while True:
            try:
                self.socket.connect(path)
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    raise RuntimeError("QEMU has ended: " + " ".join(self.process.args)) from None
                time.sleep(0.01)

    def receive(self):
        while b"#" not in self.received or len(self.received) < self.received.index(b"#") + 3:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.received += piece
        end = self.received.index(b"#")
        packet, self.received = self.received[:end], self.received[end + 3:]
        self.socket.sendall(b"+")
        return packet[packet.index(b"$") + 1:].decode("latin-1")

    def ask(self, text):
        packet = text.encode()
        self.socket.sendall(b"$%s#%02x" % (packet, sum(packet) & 255))
        return self.receive()

    def read_registers(self):
        layout, names = self.registers
        raw = bytes.fromhex(self.ask("g").replace("x", "0"))
        return dict(zip(names, struct.unpack_from(layout, raw)))

    def read_memory(self, address, size):
        """Returns fewer bytes if memory ends earlier. QEMU refuses reads beyond the end, so this tries less."""
        data, most = b"", 2048
        while len(data) < size and most:
            piece = self.ask(f"m{address + len(data):x},{min(size - len(data), most):x}")
            if piece.startswith("E") or not piece:
                most //= 2
            else:
                data += bytes.fromhex(piece)
        return data

    def step(self):
        """Executes one instruction. Returns whether the program goes on."""
        return self.ask("s")[0] == "T"

    def close(self):
        self.socket.close()
        self.process.kill()
        self.process.wait()


ARM = ("<16I", [f"r{i}" for i in range(13)] + ["sp", "lr", "pc"])
A64 = ("<33Q", [f"x{i}" for i in range(31)] + ["sp", "pc"])
X86 = ("<17Q", "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split())


def user(emulator, image, path, registers):
    return Stub([emulator, "-g", path, image], path, registers)


def board(machine, image, path):
    return Stub(["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none",
                 "-S", "-gdb", f"unix:{path},server=on,wait=off", "-kernel", image], path, ARM)


def is_there(*programs):
    return all(any(os.access(os.path.join(d, p), os.X_OK) for d in os.environ["PATH"].split(":"))
               for p in programs)
