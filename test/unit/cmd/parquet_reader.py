"""Reads the Parquet files that spoor export writes: read(bytes) returns (columns, metadata), a list of values by column
and a dict. It shares no code with the writer, checks what the format demands, and knows the encodings that spoor uses.
"""
import ctypes
import struct

BOOLEAN, INT64, BYTE_ARRAY = 0, 2, 6
PLAIN, RLE, DELTA, DICTIONARY = 0, 3, 5, 8
ZSTD = 6


def decompress(data, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(size + 1)
    assert zstd.ZSTD_decompress(room, size, data, len(data)) == size
    return room.raw[:size]


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        piece = self.data[self.at:self.at + count]
        assert len(piece) == count
        self.at += count
        return piece

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    # Thrift's compact protocol: a struct becomes a dict by number of field.

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.take(self.varint()).decode()
        if kind == 9:
            head = self.take(1)[0]
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.struct()

    def struct(self):
        fields, last = {}, 0
        while (head := self.take(1)[0]):
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            assert last not in fields
            fields[last] = self.value(head & 15)
        return fields


def unpack(data, width, count):
    bits = int.from_bytes(data, "little")
    return [bits >> i * width & (1 << width) - 1 for i in range(count)]


def hybrid(source, width, count):
    values = []
    while len(values) < count:
        head = source.varint()
        if head & 1:
            values += unpack(source.take((head >> 1) * width), width, (head >> 1) * 8)
        else:
            values += [int.from_bytes(source.take((width + 7) // 8), "little")] * (head >> 1)
    assert not any(values[count:])
    return values[:count]


def deltas(source):
    block, miniblocks, count, value = source.varint(), source.varint(), source.varint(), source.zigzag()
    assert block % 128 == 0 and block // miniblocks % 32 == 0
    values = [value][:count]
    while len(values) < count:
        least, widths = source.zigzag(), source.take(miniblocks)
        for width in widths:
            if len(values) >= count:
                break
            for step in unpack(source.take(block // miniblocks * width // 8), width, block // miniblocks):
                value = (value + least + step + 2 ** 63) % 2 ** 64 - 2 ** 63
                values.append(value)
        values = values[:count]
    return values


def page_values(source, encoding, kind, dictionary, count):
    if kind == INT64:
        assert encoding == DELTA
        values = deltas(source)
    elif kind == BOOLEAN:
        assert encoding == PLAIN
        values = [bool(bit) for bit in unpack(source.take((count + 7) // 8), 1, count)]
    elif encoding == PLAIN:
        values = [source.take(struct.unpack("<I", source.take(4))[0]).decode() for _ in range(count)]
    else:
        assert encoding == DICTIONARY
        width = source.take(1)[0]
        values = [dictionary[i] for i in hybrid(source, width, count)]
    assert len(values) == count and source.at == len(source.data)
    return values


def chunk_values(data, meta, optional):
    """The values of a column in a row group, and the bytes that its pages take unpacked."""
    dictionary, values, raw = None, [], 0
    begin = source_at = meta.get(11, meta[9])
    source = Bytes(data, source_at)
    while len(values) < meta[5]:
        before = source.at
        header = source.struct()
        assert dictionary is not None or (header[1] == 2) == (11 in meta) == (DICTIONARY in meta[2])
        raw += source.at - before + header[2]
        page = Bytes(decompress(source.take(header[3]), header[2]))
        if header[1] == 2:
            assert source_at == before and header[7][2] == PLAIN
            dictionary = [page.take(struct.unpack("<I", page.take(4))[0]).decode() for _ in range(header[7][1])]
            assert page.at == len(page.data)
            continue
        assert header[1] == 0 and header[5][3] == RLE
        count, present = header[5][1], None
        if optional:
            levels = Bytes(page.take(struct.unpack("<I", page.take(4))[0]))
            present = hybrid(levels, 1, count)
            assert levels.at == len(levels.data)
        some = iter(page_values(page, header[5][2], meta[1], dictionary, sum(present) if optional else count))
        values += [next(some) if there else None for there in present] if optional else some
    assert source.at - begin == meta[7] and len(values) == meta[5]
    return values, raw


def read(data):
    assert data[:4] == data[-4:] == b"PAR1"
    length = struct.unpack("<I", data[-8:-4])[0]
    footer = Bytes(data[:-8], len(data) - 8 - length)
    meta = footer.struct()
    assert footer.at == len(footer.data)
    root, *schema = meta[2]
    assert root[5] == len(schema)
    columns = {element[4]: [] for element in schema}
    for group in meta[4]:
        raw = 0
        for element, chunk in zip(schema, group[1], strict=True):
            assert chunk[3][4] == ZSTD and chunk[3][1] == element[1] and chunk[3][3] == [element[4]]
            assert (element.get(6) == 0 and element[10] == {1: {}}) == (element[1] == BYTE_ARRAY)
            values, unpacked = chunk_values(data, chunk[3], element[3] == 1)
            assert len(values) == group[3] and chunk[3][6] == unpacked
            columns[element[4]] += values
            raw += unpacked
        assert group[2] == raw
    assert all(len(values) == meta[3] for values in columns.values())
    return columns, {pair[1]: pair[2] for pair in meta[5]}
