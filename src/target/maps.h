/* /proc/PID/maps as an array, and room in an address space. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

struct map {
    taddr_t start, end;
    uint64_t offset; /* in the file */
    uint64_t inode;
    dev_t device;
    bool readable, writable, executable, shared;
    char *path; /* "" for anonymous memory; "[heap]" and the like as the kernel names them */
};

struct maps {
    ARRAY(struct map) list; /* ascending */
};

/* Errors: "read-maps". TID may be any live thread of the process. */
int maps_read(pid_t tid, struct maps *ret, struct err *err);
void maps_done(struct maps *maps);
/* Notes that [start, end) is taken since the maps were read. */
void maps_add(struct maps *maps, taddr_t start, taddr_t end);
/* What was removed or replaced since it was mapped goes by the name that it had from now on. */
void maps_use_former_names(struct maps *maps);
/* The same for one PATH as the kernel names it. */
void maps_use_former_name(char *path);
/* Notes that nothing of [start, end) will be taken. */
void maps_remove(struct maps *maps, taddr_t start, taddr_t end);
const struct map *maps_at(const struct maps *maps, taddr_t addr);

/* What is mapped, with the room that the program break (BREAK_START: where it began) and the stack
 * may grow into: ascending, disjoint. The array is the caller's. */
struct span *maps_taken(const struct maps *maps, taddr_t break_start, size_t *ret_count);

/* Where SIZE bytes can be mapped so that all of NEAR is within REACH bytes of all of it; keeps
 * clear of the program break's (BREAK_START: where it begins, 0 if that is far away) and the
 * stack's room to grow. 0 when there is no room. */
taddr_t maps_find_room(const struct maps *maps, struct span near, uint64_t size, uint64_t reach,
                       taddr_t break_start);
/* The lowest place for SIZE bytes in WITHIN, whatever may grow into it; 0 when there is none. */
taddr_t maps_find_room_between(const struct maps *maps, struct span within, uint64_t size);

/* True when both map the same file. */
bool map_is_same_file(const struct map *a, const struct map *b);
