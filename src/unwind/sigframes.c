/* See sigframes.h: searches stacks word by word for what the kernel writes into signal frames. */
#include "unwind/sigframes.h"

#include <string.h>

#include "arch/arch.h"
#include "target/memory.h"
#include "target/status.h"
#include "target/thread.h"

enum { CHUNK = 64 * 1024, MOST_BYTES = 8 << 20, MOST_STACKS = 8 };

/* Parts of stacks that were searched, or will be. */
struct stack_ranges {
    struct span at[MOST_STACKS];
    size_t count;
};

/* Adds the memory above SP, up to the end of its map, unless it is in S already. */
static void add(struct stack_ranges *s, const struct maps *maps, taddr_t sp) {
    const struct map *m = maps_at(maps, sp);
    if (!m || !m->writable || s->count == MOST_STACKS)
        return;
    taddr_t end = m->end - sp > MOST_BYTES ? sp + MOST_BYTES : m->end;
    for (size_t i = 0; i < s->count; i++)
        if (sp >= s->at[i].start && sp < s->at[i].end)
            return;
    s->at[s->count++] = (struct span){sp & ~(taddr_t)7, end};
}

static void search(int memory_fd, const struct maps *maps, struct stack_ranges *s, size_t which,
                   sigframe_array *ret) {
    regs_word_t words[CHUNK / sizeof(regs_word_t)];
    const size_t before = REGS_CONTEXT_WORDS - 1; /* a signal frame may straddle two chunks */
    for (taddr_t at = s->at[which].start; at < s->at[which].end;) {
        size_t size = s->at[which].end - at < CHUNK ? s->at[which].end - at : CHUNK;
        size_t count = size / sizeof *words;
        if (memory_read(memory_fd, at, words, count * sizeof *words, NULL) < 0)
            return;
        for (size_t i = 0; i + before < count; i++) {
            struct regs_context context;
            if (!regs_look_like_context(&words[i], &context))
                continue;
            ARRAY_PUSH(ret, context);
            add(s, maps, context.sp);
        }
        if (count <= before || at + size == s->at[which].end)
            return;
        at += (count - before) * sizeof *words;
    }
}

void sigframes_find(int memory_fd, const struct maps *maps, pid_t tid, sigframe_array *ret) {
    struct stack_ranges ranges = {.count = 0};
    struct regs regs;
    taddr_t sp;
    if (thread_get_regs(tid, &regs) == 0)
        add(&ranges, maps, regs_sp(&regs));
    else if (status_stack_of(tid, &sp)) /* TID is suspended in vfork() */
        add(&ranges, maps, sp);
    for (size_t i = 0; i < ranges.count; i++)
        search(memory_fd, maps, &ranges, i, ret);
}
