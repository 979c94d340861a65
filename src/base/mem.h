/*
 * Memory for the tool: allocation that cannot fail, growing arrays, an arena,
 * and cleanup attributes. Running out of memory ends the tool, never the
 * target.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *mem_alloc(size_t size);                           /* zeroed */
void *mem_resize(void *old, size_t count, size_t size); /* like realloc(); the product is checked */
/* Zeroed pages, which take memory only when they are written. (malloc() may give used pages, and
 * has to clear them.) */
void *mem_map(size_t size);
/* The same for memory that is written nearly everywhere: huge pages, where there are any. */
void *mem_map_whole(size_t size);
void mem_unmap(void *pages, size_t size);
/* The memory that this machine, or the control group of this process, has in all. */
uint64_t mem_of_machine(void);
/* Tells that most of SIZE bytes at P will be written. Large memory then comes in huge pages. */
void mem_will_fill(void *p, size_t size);
/* Fetches the pages of SIZE bytes at P, which will all be written, or read, at once: that takes
 * less time than a page fault for each. */
void mem_fetch_to_write(void *p, size_t size);
void mem_fetch_to_read(const void *p, size_t size);
/* SIZE bytes at P, of a mapped file that this process does not write, are not needed for a while:
 * their pages leave this process, and come back when they are touched. */
void mem_leave_file(const void *p, size_t size);
/* Gives pages that nothing uses any more back to the system, after much was freed. */
void mem_give_back(void);
/* From now on large allocations are mappings of their own: they grow without a copy, and go back to
 * the system as soon as they are freed. For programs that answer for hours. */
void mem_map_large(void);
char *mem_strdup(const char *text);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void mem_cleanup_free(void *p) { free(*(void **)p); }
static inline void mem_cleanup_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
}
#define AUTO_FREE __attribute__((cleanup(mem_cleanup_free)))
#define AUTO_FD __attribute__((cleanup(mem_cleanup_fd)))
/* Takes the value out of an AUTO_FREE pointer, which then frees nothing. */
#define steal(p)                                                                                   \
    ({                                                                                             \
        __typeof__(p) steal_value_ = (p);                                                          \
        (p) = NULL;                                                                                \
        steal_value_;                                                                              \
    })

/* A growing array: ARRAY(int) a = {0}; ARRAY_PUSH(&a, 7); a.at[0]; a.count; ARRAY_FREE(&a). */
#define ARRAY(T)                                                                                   \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t count, room;                                                                        \
    }
#define ARRAY_GROW(a)                                                                              \
    do {                                                                                           \
        if ((a)->count == (a)->room) {                                                             \
            (a)->room = (a)->room ? (a)->room * 2 : 16;                                            \
            (a)->at = mem_resize((a)->at, (a)->room, sizeof *(a)->at);                             \
        }                                                                                          \
    } while (0)
#define ARRAY_PUSH(a, value)                                                                       \
    do {                                                                                           \
        ARRAY_GROW(a);                                                                             \
        (a)->at[(a)->count++] = (value);                                                           \
    } while (0)
/* Makes room for COUNT elements in all. */
#define ARRAY_RESERVE(a, wanted)                                                                   \
    do {                                                                                           \
        const size_t wanted_ = (wanted);                                                           \
        if (wanted_ > (a)->room) {                                                                 \
            (a)->room = (a)->room * 2 > wanted_ ? (a)->room * 2 : wanted_;                         \
            (a)->at = mem_resize((a)->at, (a)->room, sizeof *(a)->at);                             \
        }                                                                                          \
    } while (0)
/* Removes the element I; those behind it move down. */
#define ARRAY_REMOVE(a, i)                                                                         \
    do {                                                                                           \
        const size_t removed_ = (i);                                                               \
        (a)->count--;                                                                              \
        memmove((a)->at + removed_, (a)->at + removed_ + 1,                                        \
                ((a)->count - removed_) * sizeof *(a)->at);                                        \
    } while (0)
/* Moves all elements of FROM, an array of the same type, to the end of A, and frees FROM. */
#define ARRAY_MOVE(a, from)                                                                        \
    do {                                                                                           \
        ARRAY_RESERVE(a, (a)->count + (from)->count);                                              \
        if ((from)->count)                                                                         \
            memcpy((a)->at + (a)->count, (from)->at, (from)->count * sizeof *(a)->at);             \
        (a)->count += (from)->count;                                                               \
        ARRAY_FREE(from);                                                                          \
    } while (0)
#define ARRAY_FREE(a)                                                                              \
    do {                                                                                           \
        free((a)->at);                                                                             \
        (a)->at = NULL;                                                                            \
        (a)->count = (a)->room = 0;                                                                \
    } while (0)

/* Memory that is freed all at once. */
struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned to 16 */
char *arena_strdup(struct arena *arena, const char *text);
