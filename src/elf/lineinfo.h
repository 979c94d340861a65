/*
 * Functions and source lines at addresses of an image, whatever machine and class it was built for:
 * firmware, a program or library of another computer. By libdw; debug files are found as debuggers
 * find them (build ID, .gnu_debuglink, .gnu_debugdata, debuginfod where DEBUGINFOD_URLS is set).
 *
 * Addresses are link-time (vaddr_t). Nothing here knows a process. One thread at a time.
 */
#pragma once

#include <elfutils/libdwfl.h>

#include "base/err.h"
#include "base/types.h"

struct lineinfo;

/*
 * Errors: "open" (with errno); ENOEXEC "not-elf", "truncated-elf", "corrupt-elf", "elf-type" (an
 * object or core file); ENOTSUP "elf-byte-order" (big-endian). Debugging information that is
 * missing or makes no sense is none.
 */
int lineinfo_open(const char *path, struct lineinfo **ret, struct err *err);
void lineinfo_close(struct lineinfo *info);

uint16_t lineinfo_machine(const struct lineinfo *info); /* EM_* */
bool lineinfo_is_64bit(const struct lineinfo *info);
/* The page that the lowest segment begins in. */
vaddr_t lineinfo_low(const struct lineinfo *info);
/* Call-frame information, of .eh_frame or, SECOND, of .debug_frame; its addresses are link-time
 * too. NULL: there is none. */
Dwarf_CFI *lineinfo_cfi(struct lineinfo *info, bool second);

/* Whether ADDR, as a processor or a stack holds it, is in executable sections (or segments, where
 * there are no sections). Then *RET is the address proper: without Arm's Thumb bit, and without
 * AArch64's tag and pointer authentication code. */
bool lineinfo_code(const struct lineinfo *info, uint64_t addr, vaddr_t *ret);
/* The same for a return address: what stands before it must be code, too. */
bool lineinfo_return(const struct lineinfo *info, uint64_t addr, vaddr_t *ret);
/* Bytes of the file at ADDR up to the end of its segment; NULL if not there. */
const uint8_t *lineinfo_bytes(const struct lineinfo *info, vaddr_t addr, size_t *ret_size);

/* From the first byte of code to behind the last. */
struct span lineinfo_text(const struct lineinfo *info);
/* Arm's unwind tables (.ARM.exidx); empty: none. */
struct span lineinfo_exidx(const struct lineinfo *info);
/* Whether it is for the M profile (Cortex-M), as its build attributes say. */
bool lineinfo_is_m_profile(const struct lineinfo *info);
/* Where the function that ADDR is in begins, with Thumb bit, as its symbol says; 0: not known. */
vaddr_t lineinfo_function_start(const struct lineinfo *info, vaddr_t addr);

struct line_frame {
    char *function;        /* demangled; NULL: not known */
    char *file;            /* as debugging information has it; NULL: not known */
    unsigned line, column; /* 0: not known */
    bool inlined;          /* into the next frame */
};

/* What stands at an address: functions that were inlined there, the innermost first, and last the
 * one that is a body of its own. */
struct line_place {
    struct line_frame *frames;
    size_t count;    /* at least 1 */
    uint64_t offset; /* of the address in the last one, if that has a name */
};

/* IS_RETURN: ADDR, which lineinfo_return() has given, is where a call returns to; the place is that
 * of the call. The offset is ADDR's own all the same. */
void lineinfo_find(struct lineinfo *info, vaddr_t addr, bool is_return, struct line_place *ret);
void line_place_done(struct line_place *place);
