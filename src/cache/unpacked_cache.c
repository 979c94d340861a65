#include "cache/unpacked_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Changes when unpacked files get another form. */
static const char VERSION[] = "debug 1";

struct unpacked_cache {
    struct folder folder;
    struct unpacked_files files;
};

static void name_of(const char *key, uint8_t digest[DIGEST_BYTES], char name[FOLDER_NAME_BYTES]) {
    struct digest d;
    digest_init(&d);
    digest_add(&d, VERSION, sizeof VERSION);
    digest_add(&d, key, strlen(key));
    digest_finish(&d, digest);
    int n = snprintf(name, FOLDER_NAME_BYTES, "debug-");
    for (int i = 0; i < DIGEST_BYTES; i++)
        n += snprintf(name + n, (size_t)(FOLDER_NAME_BYTES - n), "%02x", digest[i]);
}

static const uint8_t *find(void *ctx, const char *key, size_t *ret_size, void **ret_handle) {
    struct unpacked_cache *cache = ctx;
    uint8_t digest[DIGEST_BYTES];
    char name[FOLDER_NAME_BYTES];
    struct folder_file *file = mem_alloc(sizeof *file);
    name_of(key, digest, name);
    if (!folder_read_large(&cache->folder, name, digest, file)) {
        free(file);
        return NULL;
    }
    *ret_size = (size_t)(file->contents.end - file->contents.at);
    *ret_handle = file;
    return file->contents.at;
}

static void keep(void *ctx, const char *key, void (*write)(struct flat_writer *w, void *ctx),
                 void *write_ctx) {
    struct unpacked_cache *cache = ctx;
    uint8_t digest[DIGEST_BYTES];
    char name[FOLDER_NAME_BYTES];
    name_of(key, digest, name);
    folder_write(&cache->folder, name, digest, write, write_ctx);
}

static void release(void *ctx, void *handle) {
    (void)ctx;
    struct folder_file *file = handle;
    mem_unmap(file->pages, file->size);
    free(file);
}

struct unpacked_cache *unpacked_cache_open(uint64_t most_bytes) {
    struct unpacked_cache *cache = mem_alloc(sizeof *cache);
    cache->folder.fd = -1;
    if (most_bytes) {
        struct folder above = folder_open(most_bytes);
        cache->folder = folder_open_within(&above, "debug", most_bytes);
        folder_close(&above);
    }
    cache->files = (struct unpacked_files){find, keep, release, cache};
    return cache;
}

void unpacked_cache_close(struct unpacked_cache *cache) {
    folder_close(&cache->folder);
    free(cache);
}

const struct unpacked_files *unpacked_cache_files(struct unpacked_cache *cache) {
    return &cache->files;
}
