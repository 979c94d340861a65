/* Keeps buffers by size: powers of two. */
#include "trace/buffers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
    SIZES = 8,                    /* 32 KB to 4 MB */
    KEPT_BYTES = 32 * 1024 * 1024 /* in all */
};

/* A kept buffer begins with the address of the next one of its size. */
struct kept {
    struct kept *next;
};

static struct {
    pthread_mutex_t lock;
    struct kept *first[SIZES];
    size_t bytes;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t size_at(int i) { return (size_t)BUFFER_LEAST << i; }

/* The number of the least size that has room for SIZE bytes; SIZES: none has. */
static int size_number(size_t size) {
    int i = 0;
    while (i < SIZES && size_at(i) < size)
        i++;
    return i;
}

static void *take(int i) {
    pthread_mutex_lock(&list.lock);
    struct kept *buffer = list.first[i];
    if (buffer) {
        list.first[i] = buffer->next;
        list.bytes -= size_at(i);
    }
    pthread_mutex_unlock(&list.lock);
    return buffer;
}

void *buffer_get(size_t size, size_t *ret_size) {
    int i = size_number(size);
    void *buffer = i < SIZES ? take(i) : NULL;
    *ret_size = i < SIZES ? size_at(i) : size;
    return buffer ? buffer : mem_resize(NULL, *ret_size, 1);
}

static bool keep(struct kept *buffer, int i) {
    pthread_mutex_lock(&list.lock);
    bool room = list.bytes + size_at(i) <= KEPT_BYTES;
    if (room) {
        buffer->next = list.first[i];
        list.first[i] = buffer;
        list.bytes += size_at(i);
    }
    pthread_mutex_unlock(&list.lock);
    return room;
}

void buffer_put(void *buffer, size_t size) {
    int i = size_number(size);
    if (!buffer || i == SIZES || size_at(i) != size || !keep(buffer, i))
        free(buffer);
}
