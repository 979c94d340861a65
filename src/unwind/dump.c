/*
 * Reads dumps. Hexadecimal text is read line by line: an optional address, then values of one
 * width. The form tells how many bytes a value has, and in which order:
 *
 *     20003f80: 0000abcd 00001234     a word each (a fault handler, xxd -e, a kernel)
 *     0x20003f80 <stack+8>: 0x0000abcd   likewise (gdb); unequal widths: a word each
 *     20003f80: cdab 0000 3412 0000   bytes in order (xxd)
 *     0000f80 abcd 0000 1234 0000     two bytes each (hexdump, od -x)
 *     00000f80  cd ab 00 00  34 12 …  bytes (hexdump -C); a line "*" repeats the one before
 *
 * All other lines are skipped.
 */
#include "unwind/dump.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { DIGITS_MOST = 16, LINE_BYTES = 1024, REPEATED_MOST = 64 << 20 };

struct chunk {
    uint64_t at;
    bool has_address; /* the text gives `at` */
    ARRAY(uint8_t) bytes;
};

struct reader {
    const struct dump_place *place;
    ARRAY(struct chunk) chunks;
    unsigned prefixed_digits; /* of all values that begin with 0x; 0: their widths differ */
    bool measures;            /* first pass: only finds prefixed_digits */
    bool repeats;             /* the line before was "*" */
    bool bare;                /* a line had a bare address: see is_bare_address() */
    size_t last;              /* bytes in the last line that had any */
};

static void add(struct chunk *c, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        ARRAY_PUSH(&c->bytes, bytes[i]);
}

/* ---- words of a line ---- */

struct token {
    const char *at;
    size_t length;
    size_t gap; /* blanks before it */
};

static bool next_token(const char **at, const char *end, struct token *ret) {
    const char *p = *at;
    while (p < end && isspace((unsigned char)*p))
        p++;
    *ret = (struct token){.at = p, .gap = (size_t)(p - *at)};
    while (p < end && !isspace((unsigned char)*p))
        p++;
    ret->length = (size_t)(p - ret->at);
    *at = p;
    return ret->length;
}

struct number {
    uint64_t value;
    unsigned digits;
    bool prefixed;
};

static bool read_number(const char *at, size_t length, struct number *ret) {
    *ret = (struct number){.prefixed = length > 2 && at[0] == '0' && (at[1] | 0x20) == 'x'};
    for (size_t i = ret->prefixed ? 2 : 0; i < length; i++) {
        unsigned char c = (unsigned char)at[i];
        if (!isxdigit(c) || ++ret->digits > DIGITS_MOST)
            return false;
        ret->value = ret->value << 4 | (isdigit(c) ? c - '0' + 0u : (c | 0x20u) - 'a' + 10u);
    }
    return ret->digits > 0;
}

/* ---- a line ---- */

struct line {
    uint64_t at;
    bool has_address, colon;
    unsigned digits; /* of each value */
    bool prefixed;
    uint8_t bytes[LINE_BYTES];
    size_t count;
};

static void put(struct line *l, uint64_t value, unsigned size, bool in_order) {
    for (unsigned i = 0; i < size && l->count < sizeof l->bytes; i++)
        l->bytes[l->count++] = (uint8_t)(value >> 8 * (in_order ? size - 1 - i : i));
}

static unsigned value_size(const struct reader *r, const struct number *n) {
    unsigned digits = n->prefixed ? r->prefixed_digits : n->digits;
    if (digits == 2 || digits == 4 || digits == 8 || digits == 16)
        return digits / 2;
    return n->prefixed ? r->place->word : 0;
}

static void measure(struct reader *r, const struct number *n) {
    if (n->prefixed && r->prefixed_digits == UINT32_MAX)
        r->prefixed_digits = n->digits;
    else if (n->prefixed && r->prefixed_digits != n->digits)
        r->prefixed_digits = 0;
}

/* If TOKEN is a value of line L, adds its bytes to L. False: it is none. */
static bool add_value(struct reader *r, struct line *l, const struct token *token) {
    struct number n;
    if (!read_number(token->at, token->length, &n) ||
        (l->count && (n.prefixed != l->prefixed || (!n.prefixed && n.digits != l->digits))))
        return false;
    bool bytes_in_order = l->colon && !n.prefixed && n.digits == 4;
    if (l->count && token->gap > 1 && l->colon && !n.prefixed && n.digits <= 4)
        return false; /* the characters that xxd prints behind the values */
    if (r->measures)
        measure(r, &n);
    l->prefixed = n.prefixed;
    l->digits = n.digits;
    unsigned size = value_size(r, &n);
    put(l, n.value, size, bytes_in_order);
    return size > 0;
}

/* True for "20003f80:" and "0x20003f80:", and for "0x20003f80" before "<main+4>:". */
static bool is_address(const struct token *token, const char *rest, const char *end,
                       struct number *ret) {
    enum { LEAST = 4 };
    struct token next;
    if (token->at[token->length - 1] == ':')
        return read_number(token->at, token->length - 1, ret) &&
               (ret->prefixed || ret->digits >= LEAST);
    return read_number(token->at, token->length, ret) && next_token(&rest, end, &next) &&
           next.at[0] == '<' && memchr(next.at, ':', (size_t)(end - next.at));
}

/* True for the address that begins a line of hexdump and od: longer than the values, which are
 * bytes or pairs of bytes. Their last line is an address alone. */
static bool is_bare_address(struct reader *r, const struct token *token, const char *rest,
                            const char *end, struct number *ret) {
    enum { LEAST = 6 };
    struct token next;
    struct number value;
    if (token->gap || !read_number(token->at, token->length, ret) || ret->prefixed ||
        ret->digits < LEAST)
        return false;
    if (!next_token(&rest, end, &next))
        return r->bare;
    return r->bare = read_number(next.at, next.length, &value) && !value.prefixed &&
                     (value.digits == 2 || value.digits == 4);
}

static const char *skip_name(const char *rest, const char *end) {
    const char *p = rest;
    struct token next;
    if (!next_token(&p, end, &next) || next.at[0] != '<')
        return rest;
    const char *colon = memchr(next.at, ':', (size_t)(end - next.at));
    while (colon && colon[-1] != '>')
        colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    return colon ? colon + 1 : rest;
}

/* Reads the line's address and values. Skips a log's words before the address. A line without
 * address counts only if it holds nothing but values. */
static void read_line(struct reader *r, const char *at, const char *end, struct line *l) {
    struct token token;
    bool first = true, plain = true;
    while (next_token(&at, end, &token)) {
        struct number n;
        if (!l->count && is_address(&token, at, end, &n)) {
            l->at = n.value;
            l->has_address = l->colon = plain = true;
            at = skip_name(at, end);
        } else if (first && is_bare_address(r, &token, at, end, &n)) {
            l->at = n.value;
            l->has_address = true;
        } else if (!plain || !add_value(r, l, &token)) {
            if (l->has_address && plain)
                break;
            plain = false;
            l->count = 0;
        }
        first = false;
    }
    if (!plain)
        l->count = 0;
}

/* ---- all lines ---- */

static struct chunk *last_chunk(struct reader *r) {
    return r->chunks.count ? &r->chunks.at[r->chunks.count - 1] : NULL;
}

static struct chunk *begin_chunk(struct reader *r, uint64_t at, bool has_address) {
    struct chunk chunk = {.at = at, .has_address = has_address};
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): while `at` is NULL, count is room */
    ARRAY_PUSH(&r->chunks, chunk);
    return last_chunk(r);
}

/* Expands hexdump's "*": repeats the line before, up to AT. */
static void repeat(struct reader *r, uint64_t at) {
    struct chunk *c = last_chunk(r);
    if (!r->repeats || !c || !r->last || at - c->at <= c->bytes.count ||
        at - c->at - c->bytes.count > REPEATED_MOST)
        return;
    while (c->bytes.count < at - c->at) {
        uint8_t byte = c->bytes.at[c->bytes.count - r->last];
        ARRAY_PUSH(&c->bytes, byte);
    }
}

static void keep_line(struct reader *r, const struct line *l) {
    if (l->has_address)
        repeat(r, l->at);
    struct chunk *c = last_chunk(r);
    bool follows = c && (!l->has_address || c->at + c->bytes.count == l->at);
    r->repeats = false;
    if (!l->count)
        return;
    if (!follows)
        c = begin_chunk(r, l->at, l->has_address);
    add(c, l->bytes, l->count);
    r->last = l->count;
}

static void read_text(struct reader *r, const char *at, const char *end) {
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        struct line l;
        l.at = l.count = l.digits = 0;
        l.has_address = l.colon = l.prefixed = false;
        read_line(r, at, stop, &l);
        if (!r->measures && stop - at <= 2 && at < stop && *at == '*')
            r->repeats = true;
        else if (!r->measures)
            keep_line(r, &l);
        at = stop + 1;
    }
}

/* ---- Intel HEX ---- */

enum { HEX_DATA = 0, HEX_SEGMENT = 2, HEX_LINEAR = 4, HEX_HEAD = 4 };

/* Reads and checks a record: count, address (2 bytes), type, data, checksum. Returns its size; 0:
 * it is not a valid record. */
static size_t hex_record(const char *at, size_t length, uint8_t *ret) {
    uint8_t sum = 0;
    size_t count = 0;
    while (length && isspace((unsigned char)at[length - 1]))
        length--;
    if (length < 11 || at[0] != ':' || length % 2 == 0 || length > 2 * 260 + 1)
        return 0;
    for (size_t i = 1; i < length; i += 2) {
        struct number n;
        if (!isxdigit((unsigned char)at[i]) || !read_number(at + i, 2, &n))
            return 0;
        ret[count] = (uint8_t)n.value;
        sum = (uint8_t)(sum + ret[count++]);
    }
    return sum == 0 && count == ret[0] + HEX_HEAD + 1u ? count : 0;
}

static void keep_record(struct reader *r, const uint8_t *record, uint64_t *base) {
    uint64_t high = (uint64_t)record[HEX_HEAD] << 8 | record[HEX_HEAD + 1];
    if (record[3] == HEX_LINEAR && record[0] == 2)
        *base = high << 16;
    if (record[3] == HEX_SEGMENT && record[0] == 2)
        *base = high << 4;
    if (record[3] != HEX_DATA)
        return;
    struct line l = {.at = *base + ((uint64_t)record[1] << 8 | record[2]), .has_address = true};
    memcpy(l.bytes, record + HEX_HEAD, record[0]);
    l.count = record[0];
    keep_line(r, &l);
}

static int read_intel_hex(struct reader *r, const char *at, const char *end, struct err *err) {
    uint64_t base = 0;
    for (unsigned number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        uint8_t record[264] = {0};
        bool skip = at == stop || isspace((unsigned char)*at);
        if (!skip && !hex_record(at, (size_t)(stop - at), record))
            return err_set(err, EINVAL, "bad-dump", "line %u: is not a record of Intel HEX",
                           number);
        if (!skip)
            keep_record(r, record, &base);
        at = stop + 1;
    }
    return 0;
}

/* ---- all ---- */

/* True if BYTES are text: dumps of stacks hold zero bytes. */
static bool is_text(const uint8_t *bytes, size_t size) {
    size_t control = 0;
    for (size_t i = 0; i < size; i++) {
        if (!bytes[i])
            return false;
        control += iscntrl(bytes[i]) && !isspace(bytes[i]);
    }
    return control * 10 <= size;
}

static bool has_sp(const struct reader *r) {
    for (size_t i = 0; i < r->chunks.count; i++)
        if (r->place->sp - r->chunks.at[i].at < r->chunks.at[i].bytes.count)
            return true;
    return false;
}

/* The distance to add to all addresses. */
static uint64_t find_shift(const struct reader *r) {
    const struct chunk *first = &r->chunks.at[0];
    if (r->place->has_base)
        return r->place->base - first->at;
    bool counted = first->at == 0 && !has_sp(r);
    return !first->has_address || counted ? r->place->sp - first->at : 0;
}

/* Moves the chunks' bytes into the dump. */
static void hand_over(struct reader *r, struct dump *ret) {
    uint64_t shift = r->chunks.count ? find_shift(r) : 0;
    for (size_t i = 0; i < r->chunks.count; i++) {
        struct chunk *c = &r->chunks.at[i];
        ARRAY_PUSH(&ret->pieces,
                   ((struct unwind_piece){c->at + shift, c->bytes.at, c->bytes.count}));
    }
    ARRAY_FREE(&r->chunks);
}

int dump_read(const uint8_t *bytes, size_t size, const struct dump_place *place, struct dump *ret,
              struct err *err) {
    struct reader r = {.place = place, .prefixed_digits = UINT32_MAX};
    const char *text = (const char *)bytes, *end = text + size;
    size_t had = ret->pieces.count;
    int rc = 0;
    if (!is_text(bytes, size)) {
        add(begin_chunk(&r, 0, false), bytes, size);
    } else if (size && text[0] == ':') {
        rc = read_intel_hex(&r, text, end, err);
    } else {
        r.measures = true;
        read_text(&r, text, end);
        r.measures = false;
        read_text(&r, text, end);
    }
    hand_over(&r, ret);
    if (rc == 0 && ret->pieces.count == had)
        rc = err_set(err, EINVAL, "no-dump",
                     "holds no memory: give raw bytes, Intel HEX, or hexadecimal text as gdb, xxd, "
                     "hexdump or a fault handler prints it");
    return rc;
}

void dump_done(struct dump *dump) {
    for (size_t i = 0; i < dump->pieces.count; i++)
        free((void *)dump->pieces.at[i].bytes);
    ARRAY_FREE(&dump->pieces);
}
