/* Decompresses xz streams and compressed sections (gABI, "Compressed Sections"). */
#include "elf/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum {
    UNPACKED_MAX = 256 << 20, /* bytes; .gnu_debugdata and .debug_frame are smaller */
    XZ_MEMORY = 96 << 20,     /* bytes for the decoder; xz -9 needs 65 MB */
    RATIO_MAX = 1032,         /* the best that deflate can do */
};

uint8_t *unpack_xz(const uint8_t *packed, size_t packed_size, size_t *ret_size) {
    lzma_stream stream = LZMA_STREAM_INIT;
    AUTO_FREE uint8_t *bytes = NULL;
    size_t room = 0;
    lzma_ret r = lzma_stream_decoder(&stream, XZ_MEMORY, 0);
    stream.next_in = packed;
    stream.avail_in = packed_size;
    while (r == LZMA_OK && room < UNPACKED_MAX) {
        size_t used = room - stream.avail_out;
        room = room ? room * 2 : 64 << 10;
        bytes = mem_resize(bytes, room, 1);
        stream.next_out = bytes + used;
        stream.avail_out = room - used;
        r = lzma_code(&stream, LZMA_FINISH);
    }
    size_t size = room - stream.avail_out;
    lzma_end(&stream);
    if (r != LZMA_STREAM_END)
        return NULL;
    *ret_size = size;
    return steal(bytes);
}

static bool inflate_into(uint8_t *to, size_t size, const uint8_t *packed, size_t packed_size,
                         uint32_t type) {
    uLongf unpacked = size;
    switch (type) {
    case ELFCOMPRESS_ZLIB:
        return uncompress(to, &unpacked, packed, packed_size) == Z_OK && unpacked == size;
    case 2: /* ELFCOMPRESS_ZSTD, younger than this <elf.h> */
        return ZSTD_decompress(to, size, packed, packed_size) == size;
    default:
        return false;
    }
}

const uint8_t *unpack_section(const struct image *image, uint32_t index, size_t *ret_size,
                              uint8_t **ret_own) {
    Elf64_Shdr sh = image_section(image, index);
    const uint8_t *bytes = image_section_bytes(image, &sh);
    if (bytes && !(sh.sh_flags & SHF_COMPRESSED)) {
        *ret_size = sh.sh_size;
        return bytes;
    }
    if (!bytes || sh.sh_size < image->sizes->compression)
        return NULL;
    Elf64_Chdr header = image_compression(image, bytes);
    const size_t head = image->sizes->compression;
    size_t packed_size = sh.sh_size - head;
    if (!header.ch_size || header.ch_size > UNPACKED_MAX ||
        header.ch_size / RATIO_MAX > packed_size)
        return NULL;
    AUTO_FREE uint8_t *own = mem_alloc(header.ch_size);
    if (!inflate_into(own, header.ch_size, bytes + head, packed_size, header.ch_type))
        return NULL;
    *ret_size = header.ch_size;
    return *ret_own = steal(own);
}
