/*
 * Flat form that is compressed: in blocks, so that all processors unpack it, and single blocks can
 * wait until they are used. It takes a quarter of the room.
 */
#pragma once

#include "cache/folder.h"
#include "plan/patch.h"

/* Writes to W what WRITE, called with CTX, writes. */
void packed_write(struct flat_writer *w, void (*write)(struct flat_writer *w, void *ctx),
                  void *ctx);

/* What WRITE wrote. Its memory has room for all blocks, but is empty until they are unpacked. */
struct packed;
/* Takes over FILE's memory, whose contents packed_write() wrote, and unpacks the first block; then
 * FILE has none. NULL: they are damaged; FILE stays. */
struct packed *packed_open(struct folder_file *file);
void packed_close(struct packed *p);
struct flat_reader packed_contents(const struct packed *p);
/* Unpacks all blocks, but for those that lie within one of the COUNT ranges at LATER (offsets in
 * the contents). False: one is damaged. */
bool packed_unpack(struct packed *p, const struct span *later, size_t count);
/* Such blocks can be had from this. packed_close() ends it. */
struct code_source *packed_source(struct packed *p);
