/* Reads BTF, the types of the Linux kernel, its modules and its BPF programs, by libbpf. */
#pragma once

#include "base/err.h"
#include "types/ctf.h"

struct btf_reader;

/*
 * Reads BTF data into GRAPH: *RET_ALL gets the numbers of its types, in their order, to be freed;
 * SYMBOLS its functions and variables. BASE, or NULL: data that the numbers of BYTES go on from, as
 * those of a kernel module from the kernel's. Types are read when they are asked for. The reader
 * must outlive GRAPH's questions; BYTES and BASE are copied. NULL: ERR says why ("btf-corrupt").
 */
struct btf_reader *btf_read(struct types *graph, const uint8_t *bytes, size_t size,
                            const uint8_t *base, size_t base_size, type_id **ret_all,
                            size_t *ret_count, struct type_symbols *symbols, struct err *err);
void btf_reader_free(struct btf_reader *reader);
bool btf_is(const uint8_t *bytes, size_t size);
