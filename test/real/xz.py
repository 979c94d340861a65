"""xz with two threads, there and back."""
import os

from real import real_program, which

XZ = which("xz")


def prepare(directory):
    word, data = 12345, bytearray()
    while len(data) < 1500000:
        word = (word * 1103515245 + 12345) % 2**31
        data += b"entry %d of %d\n" % (word % 5000, word >> 20)
    with open(os.path.join(directory, "data"), "wb") as out:
        out.write(data)


real_program(["/bin/sh", "-c", f"{XZ} -T2 -1 -k --block-size=300000 data && {XZ} -l data.xz && "
              f"{XZ} -T2 -t data.xz 2>&1 | wc -c && {XZ} -dc data.xz | cmp - data && "
              f"{XZ} -dc data"], prepare, status=1, processes=6)
