/*
 * The code of captures in stubs, as far as it is the same for all machines: the order of what is
 * loaded, tested and written. A machine's part writes the instructions. In these there are a word
 * and an address, each in a register of its own.
 */
#pragma once

#include "arch/labels.h"
#include "arch/stub.h"
#include "values/slots.h"

enum { CAPTURE_MOST_LENGTHS = 9 }; /* texts with a length of their own, of one capture */

/* The code of a stub that reads values, while it is written. */
struct reading {
    struct writer *w; /* the machine's */
    const struct stub_spec *stub;
    size_t start;                 /* of the code */
    uint32_t word, address, free; /* registers; the first two may be one */
    int otherwise;                /* where it goes on if a value cannot be read: a label */
    struct labels labels;
};

/* What writes instructions that read a value; CTX is the machine's. The word and the address are in
 * registers; predicates (judge.h) have one for both. If a value cannot be read, the code goes on
 * elsewhere; the machine knows where. */
struct value_reader {
    /* The word with which V's program begins becomes the address, or the word. PART: of a value of
     * several words. */
    void (*begin)(void *ctx, const struct capture_value *v, unsigned part, bool address);
    void (*check_owner)(void *ctx);   /* goes elsewhere if nobody would see a fault */
    void (*check_address)(void *ctx); /* … or if no program has memory at the address; the tool
                                         sends threads there whose reads fault */
    void (*add_offset)(void *ctx, int32_t offset);       /* to the address */
    void (*follow)(void *ctx);                           /* the address becomes the pointer there */
    void (*load)(void *ctx, unsigned size, unsigned at); /* the word: SIZE bytes at address + AT */
};

/* What writes the other instructions of captures. A value that cannot be read leads to the end of
 * the present value. */
struct capture_machine {
    const struct value_reader *reader;
    void (*keep_address)(void *ctx); /* the word becomes the address */
    void (*put_word)(void *ctx, unsigned size, uint32_t number);
    /* The lower SIZE bytes of the word are the length of the text that has PLACE. */
    void (*keep_length)(void *ctx, unsigned size, int place);
    /* The text at the address. PLACE: of its length, or −1. */
    void (*put_text)(void *ctx, const struct capture_value *v, int place, uint32_t number);
    void (*end_value)(void *ctx);
};

/* Leads from the word with which V's program begins to the address of its last step. */
void capture_lead(const struct value_reader *reader, void *ctx, const struct capture_value *v);

/* How many texts of C have a length of their own: these have the places from 0 on. */
int capture_lengths(const struct capture *c);

/* Writes what the value number VALUE of C takes; its first word is NUMBER. */
void capture_put_value(const struct capture_machine *machine, void *ctx, const struct capture *c,
                       size_t value, uint32_t number);
