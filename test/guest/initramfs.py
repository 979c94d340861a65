"""Writes cpio archives for an initramfs. Linux unpacks any number of them, one after the other (the
kernel's Documentation/driver-api/early-userspace/buffer-format.rst)."""
import os
import stat

ALIGNMENT = 4


class Archive:
    """A cpio archive, written to FILE. All files in it belong to root."""

    def __init__(self, file):
        self.file = file
        self.number = 0
        self.folders = set()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if not kind:
            self._write("TRAILER!!!", 0, b"")

    def _write(self, name, mode, data):
        name = name.encode(errors="surrogateescape") + b"\0"
        self.number += 1
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        for part in b"070701" + b"".join(b"%08x" % field for field in fields) + name, data:
            self.file.write(part + bytes(-(len(part)) % ALIGNMENT))

    def folder(self, path, mode=0o755):
        """Adds a folder and its parents. A second call for the same PATH does nothing."""
        path = path.strip("/")
        if path and path not in self.folders:
            self.folder(os.path.dirname(path))
            self.folders.add(path)
            self._write(path, stat.S_IFDIR | mode, b"")

    def text(self, path, text, mode=0o644):
        self.data(path, text.encode(), mode)

    def data(self, path, data, mode=0o644):
        self.folder(os.path.dirname(path))
        self._write(path.strip("/"), stat.S_IFREG | mode, data)

    def link(self, path, to):
        """Adds a symbolic link."""
        self.folder(os.path.dirname(path))
        self._write(path.strip("/"), stat.S_IFLNK | 0o777, to.encode(errors="surrogateescape"))

    def copy(self, path, to=None):
        """Adds a file of the host, as TO or under its own path."""
        with open(path, "rb") as file:
            self.data(to or path, file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))

    def package(self, contents, left_out):
        """Adds the files that debian.contents() yields, except below LEFT_OUT. Hard links become symbolic."""
        for item, data in contents:
            path = item.name.removeprefix("./").strip("/")
            if not path or path.startswith(left_out):
                continue
            if item.isdir():
                self.folder(path, item.mode)
            elif item.isreg():
                self.data(path, data, item.mode)
            elif item.issym() or item.islnk():
                self.link(path, item.linkname if item.issym() else "/" + item.linkname.removeprefix("./"))
