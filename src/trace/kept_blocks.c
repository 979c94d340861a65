/* Keeps and forgets copies of blocks. */
#include "trace/kept_blocks.h"

#include "base/search.h"

static bool is_of_module(const struct block *block) {
    return block->head.type == DISK_MODULE || block->head.type == DISK_FUNCTIONS;
}

static bool is_of_process(const struct block *block) {
    enum disk_type type = (enum disk_type)block->head.type;
    return type == DISK_PROCESS || type == DISK_MAP || type == DISK_CHANGE;
}

static bool must_keep(struct kept *k, const struct block *block) {
    bool first_clock = block->head.type == DISK_CLOCK && !k->has_clock;
    k->has_clock |= first_clock;
    return first_clock || block->head.type == DISK_SESSION ||
           (k->all && block->head.type != DISK_CLOCK);
}

static void forget_module(struct kept *k, uint32_t key) {
    size_t left = 0;
    for (size_t i = 0; i < k->blocks.count; i++) {
        struct kept_block *b = &k->blocks.at[i];
        if (b->key == key && is_of_module(b->block))
            block_free(b->block);
        else
            k->blocks.at[left++] = *b;
    }
    k->blocks.count = left;
}

void kept_add(struct kept *k, const struct block *block, uint32_t key) {
    if (k->replaces && key && block->head.type == DISK_MODULE)
        forget_module(k, key);
    if (must_keep(k, block))
        ARRAY_PUSH(&k->blocks, ((struct kept_block){block_copy(block), key}));
}

void kept_forget(struct kept *k, const uint32_t *pids, size_t count) {
    size_t left = 0;
    for (size_t i = 0; i < k->blocks.count; i++) {
        struct kept_block *b = &k->blocks.at[i];
        size_t at = SEARCH(n, count, pids[n] < b->key);
        if (b->key && is_of_process(b->block) && at < count && pids[at] == b->key)
            block_free(b->block);
        else
            k->blocks.at[left++] = *b;
    }
    k->blocks.count = left;
}

void kept_done(struct kept *k) {
    for (size_t i = 0; i < k->blocks.count; i++)
        block_free(k->blocks.at[i].block);
    ARRAY_FREE(&k->blocks);
}
