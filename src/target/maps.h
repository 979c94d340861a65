/* /proc/PID/maps as an array; finds room in an address space. */
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
    bool code_image; /* of CODE_IMAGE_NAME: it counts as anonymous memory */
    char *path;      /* "" for anonymous memory; "[heap]" and the like as in /proc */
};

/* The name of the memfds that hold trampolines for many processes (patch/code_image.h). */
#define CODE_IMAGE_NAME "spoor-code"

struct maps {
    ARRAY(struct map) list; /* ascending */
};

/* TID: any live thread of the process. Errors: "read-maps". */
int maps_read(pid_t tid, struct maps *ret, struct err *err);
void maps_done(struct maps *maps);
/* Adds [start, end), which was mapped after the maps were read. */
void maps_add(struct maps *maps, taddr_t start, taddr_t end);
/* Removes " (deleted)" from paths, so that removed and replaced files keep their former names. */
void maps_use_former_names(struct maps *maps);
/* The same for one PATH as the kernel gives it. */
void maps_use_former_name(char *path);
/* Removes [start, end), which will be unmapped. */
void maps_remove(struct maps *maps, taddr_t start, taddr_t end);
const struct map *maps_at(const struct maps *maps, taddr_t addr);

/* All mapped ranges, and those into which the program break (BREAK_START: where it began) and the
 * stack may grow. Ascending, disjoint. The caller frees the array. */
struct span *maps_taken(const struct maps *maps, taddr_t break_start, size_t *ret_count);

/* Finds room for SIZE bytes so that all of NEAR is within REACH bytes of all of it. Keeps clear of
 * the room into which the program break (BREAK_START: where it began; 0: far away) and the stack
 * may grow. 0: no room. */
taddr_t maps_find_room(const struct maps *maps, struct span near, uint64_t size, uint64_t reach,
                       taddr_t break_start);
/* The lowest free place for SIZE bytes in WITHIN. The break may grow into it. 0: no room. */
taddr_t maps_find_room_between(const struct maps *maps, struct span within, uint64_t size);

/* Whether TID's process has as many mappings as vm.max_map_count allows, or nearly so: then mmap()
 * fails with ENOMEM. Sets both numbers if it has. */
bool maps_are_full(pid_t tid, size_t *ret_count, size_t *ret_most);

/* True if both map the same file. */
bool map_is_same_file(const struct map *a, const struct map *b);
