/*
 * The bytes of a trace file. doc/trace-format.md has the same as tables; a test compares them.
 * Private to src/trace.
 *
 *     header | block | block | … | index block(s) | trailer
 *
 * A block is a fixed head and a payload. All numbers are little-endian, as on every host of spoor:
 * the structures below are the bytes.
 */
#pragma once

#include "base/types.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structures are written as they are");

#define DISK_MAGIC "spoor\r\n\x1a"   /* 8 bytes; shows transfers that convert line ends */
#define DISK_END_MAGIC "spoorend"    /* 8 bytes */
#define DISK_BLOCK_MAGIC 0x4b427073u /* "spBK" */

enum {
    DISK_BLOCK_ITEMS = 64 * 1024,   /* events and other items in one block, at most */
    DISK_RAW_MAX = 4 * 1024 * 1024, /* an uncompressed payload, at most */
    DISK_RAW_TARGET = 1024 * 1024,  /* what the writer aims to stay below */
    DISK_SMALL = 32 * 1024,         /* a payload of this size is always compressed, if that helps */
    DISK_STRING_MAX = 512 * 1024,   /* longer strings are cut */
    DISK_INDEX_ENTRIES = 32 * 1024, /* in one index block, at most */
    DISK_FRAMES_MAX = 64 * 1024,    /* in one record, at most */
    DISK_EXTENTS_MAX = 64 * 1024,   /* likewise */
    DISK_CHAINS_MAX = 0x3fffffff,   /* numbers of chains and places */
    DISK_ID_MAX = 0x3fffffff        /* event ids have 30 bits */
};

enum { DECODE_PADDING = 16 }; /* readable bytes behind a payload in memory (decode.h) */

enum disk_type {
    DISK_SESSION = 1,
    DISK_CLOCK = 2,
    DISK_PROCESS = 3,
    DISK_THREAD = 4,
    DISK_MODULE = 5,
    DISK_FUNCTIONS = 6, /* a part of a module's function table */
    DISK_MAP = 7,
    DISK_END = 8,
    DISK_INDEX = 9,
    DISK_FRAMES = 10,
    DISK_CHANGE = 11,
    DISK_EXTENTS = 12,
    DISK_CHAINS = 13,
    DISK_CHECKPOINT = 14,
    DISK_TYPES = 15,
    DISK_EVENTS = 16,
    DISK_CAPTURES = 17,
    DISK_VALUES = 18,
    DISK_DEATH = 19,
    DISK_PAUSES = 20,
    DISK_PART = 21
};

enum disk_coding { DISK_PLAIN = 0, DISK_ZSTD = 1 };

struct disk_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; /* offset of the first block */
    uint64_t flags;        /* 0 */
    uint64_t check;        /* XXH64 of the bytes before */
};

struct disk_block {
    uint32_t magic;
    uint16_t type;          /* enum disk_type; others are skipped */
    uint16_t coding;        /* enum disk_coding */
    uint32_t stored;        /* bytes of payload that follow */
    uint32_t raw;           /* bytes of payload once decoded */
    uint64_t payload_check; /* XXH64 of the stored payload */
    uint32_t stream;        /* DISK_EVENTS; else 0, as are the following */
    uint32_t items;         /* events, losses and thread ends in the block */
    uint64_t first, last;   /* ticks of the first and the last item */
    uint32_t entries, exits;
    uint64_t lost;
    uint64_t check; /* XXH64 of the bytes before */
};

struct disk_index_entry {
    uint64_t offset;         /* of the block's head in the file */
    struct disk_block block; /* a copy of it */
};

struct disk_trailer {      /* the last bytes of a complete file */
    uint64_t index_offset; /* first index block; they are contiguous up to the trailer */
    uint64_t index_blocks;
    uint64_t check; /* XXH64 of the bytes before */
    char magic[8];
};

struct disk_events {    /* begins the payload of DISK_EVENTS; then the columns in this order */
    uint32_t functions; /* entries of the dictionary */
    uint32_t dictionary_bytes, code_bytes, time_bytes, extra_bytes;
};

/* Codes of the code column. Even and odd codes from CODE_ENTRY on are entries of function number
 * (code − CODE_ENTRY) / 2: even with the predicted stack pointer, odd with a correction. */
enum disk_code {
    CODE_RETURN = 0,       /* of the top frame */
    CODE_TAIL = 1,         /* of the top frame */
    CODE_OTHER_RETURN = 2, /* extra: function number, stack pointer relative to the top frame's */
    CODE_OTHER_TAIL = 3,   /* likewise */
    CODE_SWITCH = 4,       /* extra: the shadow stack that the following codes use; no item */
    CODE_POP = 5,          /* extra: how many frames to forget; no item */
    CODE_LOST = 6,         /* extra: how many events were lost */
    CODE_THREAD_END = 7,
    CODE_CONTROL = 8, /* extra: function number, stack pointer relative to the top frame's */
    CODE_HIGH = 9,    /* extra: bits 32 … 47 of stack pointers on this shadow stack; no item */
    CODE_ENTRY = 10
};

enum { DISK_HIGH_MAX = 0xffff };
#define DISK_SP_MAX (((uint64_t)1 << 48) - 1) /* stack pointers have 48 bits */
enum { DISK_SHADOWS = 64 };                   /* shadow stacks of a block, at most */

_Static_assert(sizeof(struct disk_header) == 32, "no padding");
_Static_assert(sizeof(struct disk_block) == 72, "no padding");
_Static_assert(sizeof(struct disk_index_entry) == 80, "no padding");
_Static_assert(sizeof(struct disk_trailer) == 32, "no padding");
_Static_assert(sizeof(struct disk_events) == 20, "no padding");
