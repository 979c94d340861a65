/* See spool.h. */
#include "export/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_ROOM = 192 };

void spool_init(struct spool *s) { *s = (struct spool){.fd = -1}; }

void spool_done(struct spool *s) {
    if (s->fd >= 0)
        close(s->fd);
    spool_init(s);
}

void spool_clear(struct spool *s) { s->end = 0; }

static void open_file(struct spool *s) {
    const char *directory = getenv("TMPDIR");
    AUTO_FREE char *path =
        mem_printf("%s/spoor-XXXXXX", directory && *directory ? directory : "/var/tmp");
    s->fd = mkostemp(path, 0);
    if (s->fd < 0)
        s->error = errno;
    else
        unlink(path);
}

/* Moves the tail of LIST, a whole chunk, to the file. */
static void flush(struct spool *s, struct spool_list *list) {
    if (s->fd < 0 && !s->error)
        open_file(s);
    for (size_t done = 0; done < SPOOL_CHUNK && !s->error;) {
        ssize_t n = pwrite(s->fd, list->tail + done, SPOOL_CHUNK - done, s->end + (off_t)done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            s->error = n ? errno : EIO;
    }
    ARRAY_PUSH(&list->chunks, s->end);
    s->end += SPOOL_CHUNK;
    list->used = 0;
}

void spool_add(struct spool *s, struct spool_list *list, const void *bytes, size_t size) {
    if (list->used + size > SPOOL_CHUNK)
        flush(s, list);
    if (list->used + size > list->room) {
        list->room = list->room ? list->room * 2 : FIRST_ROOM;
        list->room = list->room < SPOOL_CHUNK ? list->room : SPOOL_CHUNK;
        list->tail = mem_resize(list->tail, list->room, 1);
    }
    memcpy(list->tail + list->used, bytes, size);
    list->used += size;
}

static bool read_chunk(struct spool *s, char *buffer, off_t at) {
    for (size_t done = 0; done < SPOOL_CHUNK && !s->error;) {
        ssize_t n = pread(s->fd, buffer + done, SPOOL_CHUNK - done, at + (off_t)done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            s->error = n ? errno : EIO;
    }
    return !s->error;
}

bool spool_read(struct spool *s, const struct spool_list *list,
                void (*on)(void *ctx, const void *bytes, size_t size), void *ctx) {
    char buffer[SPOOL_CHUNK];
    for (size_t i = 0; i < list->chunks.count && read_chunk(s, buffer, list->chunks.at[i]); i++)
        on(ctx, buffer, SPOOL_CHUNK);
    if (!s->error && list->used)
        on(ctx, list->tail, list->used);
    return !s->error;
}

void spool_list_done(struct spool_list *list) {
    free(list->tail);
    ARRAY_FREE(&list->chunks);
    *list = (struct spool_list){0};
}
