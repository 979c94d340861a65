/* Reads BTF, the types of the Linux kernel, its modules and its BPF programs, by libbpf. */
#pragma once

#include "base/err.h"
#include "types/ctf.h"

struct btf_reader;

/*
 * Adds the types of BTF data to SET. Types are read when they are asked for. The reader must
 * outlive the graph's questions; BYTES are copied. NULL: ERR says why ("btf-corrupt").
 */
struct btf_reader *btf_read(const uint8_t *bytes, size_t size, struct type_set *set,
                            struct err *err);
/* The same for the file PATH, ELF or raw. Its numbers go on from those of the file BASE, as a
 * kernel module's from the kernel's. */
struct btf_reader *btf_read_split(const char *path, const char *base, struct type_set *set,
                                  struct err *err);
void btf_reader_free(struct btf_reader *reader);
bool btf_is(const uint8_t *bytes, size_t size);
