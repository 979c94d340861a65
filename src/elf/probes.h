/*
 * USDT probes: places that a program's author has marked for tracers (<sys/sdt.h>). Each is one nop
 * in code, and a note in the section .note.stapsdt. The note tells its name, where its arguments
 * are, and its counter (semaphore). By the counter the program knows whether a tracer listens.
 */
#pragma once

#include "elf/module.h"

struct probe {
    vaddr_t addr;          /* of the nop; without the Thumb bit */
    vaddr_t semaphore;     /* of 16 bits in data that can be written; 0: none */
    char *name;            /* "provider:name"; owned */
    const char *arguments; /* as in the note, "-4@$5 8@%rax"; may be "" */
};

struct probes {
    struct probe *at; /* by address, each place once */
    size_t count;
};

/* Reads the notes of MODULE, which must outlive RET. A module may have none. Errors: ENOEXEC
 * "corrupt-probes"; RET is then empty. */
int probes_read(const struct module *module, struct probes *ret, struct err *err);
void probes_done(struct probes *probes);
/* True if MODULE has a section of such notes. */
bool probes_exist(const struct module *module);
/* The probe at ADDR; NULL: none. */
const struct probe *probes_at(const struct probes *probes, vaddr_t addr);
