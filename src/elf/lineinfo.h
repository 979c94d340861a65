/*
 * Functions and source lines at addresses of an ELF image for any machine and class: firmware, or a
 * program or library of another computer. Uses libdw. Debug files are found as by debuggers (build
 * ID, .gnu_debuglink, .gnu_debugdata, debuginfod if DEBUGINFOD_URLS is set).
 *
 * Addresses are link-time (vaddr_t). No process is involved. One thread at a time.
 */
#pragma once

#include <elfutils/libdwfl.h>

#include "base/err.h"
#include "base/types.h"

struct lineinfo;

/*
 * Errors: "open" (with errno); ENOEXEC "not-elf", "truncated-elf", "corrupt-elf", "elf-type" (an
 * object or core file); ENOTSUP "elf-byte-order" (big-endian). Malformed debugging information
 * counts as absent.
 */
int lineinfo_open(const char *path, struct lineinfo **ret, struct err *err);
/* The same without the network: debuginfod is not asked. */
int lineinfo_open_local(const char *path, struct lineinfo **ret, struct err *err);
void lineinfo_close(struct lineinfo *info);

uint16_t lineinfo_machine(const struct lineinfo *info); /* EM_* */
bool lineinfo_is_64bit(const struct lineinfo *info);
/* The page in which the lowest segment begins. */
vaddr_t lineinfo_lowest_page(const struct lineinfo *info);
/* Call-frame information of .eh_frame or, if SECOND, of .debug_frame, with link-time addresses.
 * NULL: there is none. */
Dwarf_CFI *lineinfo_cfi(struct lineinfo *info, bool second);

/* Whether ADDR, as a processor or a stack holds it, is in an executable section (or segment, if
 * there are no sections). Then *RET is the plain address, without Arm's Thumb bit and without
 * AArch64's tag and pointer authentication code. */
bool lineinfo_find_code(const struct lineinfo *info, uint64_t addr, vaddr_t *ret);
/* The same for a return address: the byte before it must be code. */
bool lineinfo_find_return(const struct lineinfo *info, uint64_t addr, vaddr_t *ret);
/* The file's bytes from ADDR up to the end of its segment; NULL: ADDR is not in the file. */
const uint8_t *lineinfo_bytes(const struct lineinfo *info, vaddr_t addr, size_t *ret_size);

/* The link-time address of the byte at OFFSET of the file. False: no segment has it. */
bool lineinfo_at_offset(const struct lineinfo *info, uint64_t offset, vaddr_t *ret);

/* From the first byte of code to the end of the last. */
struct span lineinfo_text(const struct lineinfo *info);
/* Arm's unwind tables (.ARM.exidx); empty: none. */
struct span lineinfo_exidx(const struct lineinfo *info);
/* Whether its build attributes name the M profile (Cortex-M). */
bool lineinfo_is_m_profile(const struct lineinfo *info);
/* The start of the function that holds ADDR, with Thumb bit, by its symbol; 0: not known. */
vaddr_t lineinfo_function_start(const struct lineinfo *info, vaddr_t addr);

struct line_frame {
    char *function;        /* demangled; NULL: not known */
    char *symbol;          /* the same as in the symbol table; NULL: not known */
    char *file;            /* path in the debugging information; NULL: not known */
    unsigned line, column; /* 0: not known */
    bool inlined;          /* into the next frame */
};

/* The functions at an address: inlined ones, the innermost first, and last the function that they
 * are inlined into. */
struct line_place {
    struct line_frame *frames;
    size_t count;    /* at least 1 */
    uint64_t offset; /* of the address in the last one; 0 if that has no name */
};

/* IS_RETURN: ADDR is a return address from lineinfo_find_return(); the place is that of the call,
 * but the offset is ADDR's. */
void lineinfo_find(struct lineinfo *info, vaddr_t addr, bool is_return, struct line_place *ret);
void line_place_done(struct line_place *place);
