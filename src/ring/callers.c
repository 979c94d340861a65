#include "ring/callers.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "arch/clock.h"
#include "arch/regs.h"
#include "base/search.h"
#include "elf/module.h"
#include "select/mapped.h"
#include "target/memory.h"
#include "unwind/unwind.h"

enum { FIRST_ROOM = 256, WORD = REGS_WORD_BYTES };

struct file { /* that is mapped somewhere */
    dev_t device;
    ino_t inode;           /* 0: the vDSO */
    int fd;                /* −1: it cannot be had */
    struct module *module; /* for its symbols; NULL: not looked at yet, or not possible */
    bool tried;
};

struct known {  /* a pc that was met */
    taddr_t pc; /* 0: a free place */
    uint32_t place;
    uint64_t in; /* the serial number of the chains whose place that is */
};

struct walked {                           /* a frame */
    uint64_t registers[REGS_DWARF_COUNT]; /* as it found them */
    struct unwind_frame frame;
    uint32_t chain; /* that it is the first one of */
};
typedef ARRAY(struct walked) walked_array;

struct last {    /* slice */
    uint64_t in; /* as above */
    uint64_t sp, end;
    regs_word_t *words;
    size_t room;
    walked_array frames;
    uint32_t end_chain; /* how its chain ends */
};

struct callers {
    atomic_uint refs;
    pthread_mutex_t lock; /* of all that follows */
    uint32_t most;
    const struct stack_functions *asked;
    struct maps maps;
    uint64_t *since;  /* by map, ticks: what was written from then on may lead there */
    uint64_t changed; /* the latest of these */
    ARRAY(struct file) files;
    struct unwinder *unwinder;
    struct known *table; /* open addressing, at most half full */
    size_t room, count;
    walked_array frames; /* of the present slice */
    struct last last;
};

/* ---- files ---- */

static struct file *file_of(struct callers *c, const struct map *map) {
    for (size_t i = 0; i < c->files.count; i++)
        if (c->files.at[i].inode == map->inode && c->files.at[i].device == map->device)
            return &c->files.at[i];
    return NULL;
}

static bool is_vdso(const struct map *map) { return strcmp(map->path, "[vdso]") == 0; }

static void open_file(struct callers *c, pid_t tid, int memory_fd, const struct map *map) {
    struct file file = {.device = map->device, .inode = map->inode, .fd = -1};
    struct stat st;
    if (!map->executable || !(map->inode || is_vdso(map)) || file_of(c, map))
        return;
    if (is_vdso(map))
        file.fd = unwind_image(memory_fd, map);
    else if (map->path[0] == '/')
        file.fd = mapped_open(tid, map, &st);
    ARRAY_PUSH(&c->files, file);
}

/* The unwinder's own descriptor of what MAP maps. */
static int open_again(void *ctx, const struct map *map) {
    const struct file *file = map->inode || is_vdso(map) ? file_of(ctx, map) : NULL;
    return file && file->fd >= 0 ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

static const struct module *module_of(struct file *file, const struct map *map) {
    if (!file->tried && file->fd >= 0)
        module_load_fd(file->fd, map->path, 0, &file->module, NULL);
    file->tried = true;
    return file->module;
}

/* ---- functions ---- */

/* A part of a function that lies elsewhere bears its name, and more. */
static char *function_name(const char *symbol) {
    const char *cold = strstr(symbol, ".cold");
    return cold ? mem_printf("%.*s", (int)(cold - symbol), symbol) : mem_strdup(symbol);
}

/* The symbol of the code at ADDR, of a function if possible; NULL: none. What nothing tells the end
 * of goes on to the next symbol if it is a function (_start on 32-bit Arm). */
static const struct symbol *symbol_at(const struct module *m, vaddr_t addr) {
    size_t end = SEARCH(k, m->symbol_count, m->symbols[k].addr <= addr);
    const struct unwind_range *range = module_range_at(m, addr);
    for (size_t i = end; i-- > 0;) {
        const struct symbol *s = &m->symbols[i];
        if (range ? s->addr < range->start : s->size && addr - s->addr >= s->size)
            return NULL;
        bool has_end = range || s->size || s->type == SYMBOL_FUNCTION;
        if (s->type == SYMBOL_OBJECT || !s->name[0] || !has_end)
            continue;
        while (i && m->symbols[i - 1].addr == s->addr && m->symbols[i - 1].type != SYMBOL_OBJECT &&
               m->symbols[i - 1].name[0])
            s = &m->symbols[--i]; /* the one to show comes first */
        return s;
    }
    return NULL;
}

static vaddr_t vaddr_of(const struct module *m, const struct map *map, taddr_t pc) {
    uint64_t offset = pc - map->start + map->offset;
    for (size_t i = 0; i < m->segment_count; i++) {
        const struct segment *s = &m->segments[i];
        if (s->executable && offset >= s->offset && offset - s->offset < s->size)
            return offset - s->offset + s->start;
    }
    return offset;
}

/* The function that the code before PC, where a call returns to, is in; EXACT: that at PC. */
static uint32_t place_at(struct callers *c, const struct unwind_frame *frame,
                         struct chains *chains) {
    taddr_t pc = frame->pc - !frame->exact;
    const struct map *map = maps_at(&c->maps, pc);
    struct file *file = map ? file_of(c, map) : NULL;
    const struct module *m = file ? module_of(file, map) : NULL;
    const char *slash = map ? strrchr(map->path, '/') : NULL;
    struct trace_place place = {"", slash ? slash + 1 : map ? map->path : "", pc};
    if (!m)
        return chains_place(chains, &place);
    vaddr_t addr = vaddr_of(m, map, pc);
    const struct unwind_range *range = module_range_at(m, addr);
    const struct symbol *symbol = symbol_at(m, addr);
    AUTO_FREE char *name = function_name(symbol ? symbol->name : "");
    place.function = name;
    place.address = symbol ? symbol->addr : range ? range->start : addr;
    return chains_place(chains, &place);
}

/* ---- pcs that were met ---- */

static struct known *find_known(const struct callers *c, taddr_t pc) {
    size_t i = (pc * 0x9e3779b97f4a7c15u) >> 32 & (c->room - 1);
    while (c->table[i].pc && c->table[i].pc != pc)
        i = (i + 1) & (c->room - 1);
    return &c->table[i];
}

static void grow(struct callers *c) {
    struct known *old = c->table;
    size_t had = c->room;
    c->room *= 2;
    c->table = mem_alloc(c->room * sizeof *c->table);
    for (size_t i = 0; i < had; i++)
        if (old[i].pc)
            *find_known(c, old[i].pc) = old[i];
    free(old);
}

static uint32_t place_of(struct callers *c, const struct unwind_frame *frame,
                         struct chains *chains) {
    taddr_t key = frame->pc - !frame->exact;
    struct known *k = find_known(c, key);
    if (k->pc && k->in == chains_serial(chains))
        return k->place;
    if (!k->pc && ++c->count > c->room / 2) {
        grow(c);
        k = find_known(c, key);
    }
    *k = (struct known){key, place_at(c, frame, chains), chains_serial(chains)};
    return k->place;
}

/* ---- the process ---- */

static void forget(struct callers *c) {
    unwinder_free(c->unwinder);
    c->unwinder = NULL;
    maps_done(&c->maps);
    c->maps = (struct maps){0};
    free(steal(c->since));
    free(c->table);
    c->last.frames.count = 0;
    c->room = FIRST_ROOM;
    c->count = 0;
    c->table = mem_alloc(c->room * sizeof *c->table);
}

static bool is_same(const struct map *x, const struct map *y) {
    return x->start == y->start && x->end == y->end && x->inode == y->inode &&
           x->device == y->device && x->offset == y->offset;
}

/* Whether both have the same code at the same places. */
static bool same_code(const struct maps *a, const struct maps *b) {
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->list.count && !a->list.at[i].executable)
            i++;
        while (k < b->list.count && !b->list.at[k].executable)
            k++;
        if (i == a->list.count || k == b->list.count)
            return i == a->list.count && k == b->list.count;
        if (!is_same(&a->list.at[i], &b->list.at[k]))
            return false;
    }
}

/* Since when MAPS hold what they do; what is not among the present ones: since now. At first
 * nothing has been written yet. */
static uint64_t *date(struct callers *c, const struct maps *maps) {
    uint64_t *since = mem_alloc(maps->list.count * sizeof *since), now = clock_ticks();
    for (size_t i = 0; c->unwinder && i < maps->list.count; i++) {
        const struct map *map = &maps->list.at[i], *had = maps_at(&c->maps, map->start);
        since[i] = had && is_same(map, had) ? c->since[had - c->maps.list.at] : now;
    }
    if (c->unwinder)
        c->changed = now;
    return since;
}

/* Files stay open that are mapped no more, which matters little; they may come again. */
static void use_maps(struct callers *c, pid_t tid, const struct maps *maps) {
    int memory_fd = -1;
    uint64_t *since = date(c, maps);
    memory_open(tid, &memory_fd, NULL);
    forget(c);
    c->since = since;
    c->maps = *maps;
    for (size_t i = 0; i < maps->list.count; i++)
        open_file(c, tid, memory_fd, &maps->list.at[i]);
    c->unwinder = unwinder_new(&c->maps, &(struct unwind_files){c, open_again});
    if (memory_fd >= 0)
        close(memory_fd);
}

void callers_look(struct callers *c, pid_t tid) {
    struct maps maps;
    if (maps_read(tid, &maps, NULL) < 0)
        return;
    maps_use_former_names(&maps);
    pthread_mutex_lock(&c->lock);
    if (c->unwinder && same_code(&c->maps, &maps))
        maps_done(&maps);
    else
        use_maps(c, tid, &maps);
    pthread_mutex_unlock(&c->lock);
}

struct callers *callers_new(pid_t tid, uint32_t most, const struct stack_functions *asked) {
    struct callers *c = mem_alloc(sizeof *c);
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->most = most;
    c->asked = asked;
    callers_look(c, tid);
    return c;
}

struct callers *callers_ref(struct callers *c) {
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void callers_unref(struct callers *c) {
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    forget(c);
    free(c->table);
    for (size_t i = 0; i < c->files.count; i++) {
        module_free(c->files.at[i].module);
        if (c->files.at[i].fd >= 0)
            close(c->files.at[i].fd);
    }
    ARRAY_FREE(&c->files);
    ARRAY_FREE(&c->frames);
    ARRAY_FREE(&c->last.frames);
    free(c->last.words);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- slices ---- */

/*
 * Mostly a slice is like the one before it, but for its lowest words. Where the two stand alike
 * from some address up to their ends, and a frame is there in both with the same pc and registers,
 * all that calls it is the same.
 */

/* From which address on the slice of BYTES from SP on is as the last one was. */
static uint64_t same_from(const struct last *l, const struct stack_slice *s, uint64_t sp,
                          size_t bytes) {
    uint64_t at = sp + bytes, low = sp > l->sp ? sp : l->sp;
    if (at != l->end)
        return UINT64_MAX;
    while (at > low && s->words[(at - sp) / WORD - 1] == l->words[(at - l->sp) / WORD - 1])
        at -= WORD;
    return at;
}

static void keep_words(struct last *l, const struct stack_slice *s, uint64_t sp, size_t bytes) {
    if (bytes / WORD > l->room) {
        l->room = bytes / WORD * 2;
        l->words = mem_resize(l->words, l->room, sizeof *l->words);
    }
    memcpy(l->words, s->words, bytes);
    l->sp = sp;
    l->end = sp + bytes;
}

/* The number of the last slice's frame that has REGISTERS; how many there were: none has. Frames
 * come in the order of their stack pointers, signal frames apart. */
static size_t find_again(const struct last *l, const uint64_t *registers) {
    size_t i = 0, count = l->frames.count;
    while (i < count && l->frames.at[i].registers[REGS_DWARF_SP] < registers[REGS_DWARF_SP])
        i++;
    bool same = i < count &&
                memcmp(l->frames.at[i].registers, registers, sizeof l->frames.at[i].registers) == 0;
    return same ? i : count;
}

/* Whether the walk may go on as the last one did from its frame number AGAIN on. */
static bool may_join(const struct callers *c, size_t again) {
    const struct last *l = &c->last;
    size_t here = c->frames.count, rest = l->frames.count - again;
    return rest && (l->end_chain == CHAIN_LIMITED ? here == again : here + rest <= c->most);
}

/* Whether what is mapped at PC was so at TICKS already. */
static bool was_there(const struct callers *c, taddr_t pc, uint64_t ticks) {
    const struct map *m = ticks < c->changed ? maps_at(&c->maps, pc) : NULL;
    return !m || c->since[m - c->maps.list.at] <= ticks;
}

/* Walks through what has been begun, at TICKS, to its end or to a frame from which on it has been
 * walked before: *RET_AGAIN is that one's number. Leaves the frames up to there in c->frames, and
 * returns how the walk has ended. */
static uint32_t walk(struct callers *c, uint64_t same, uint64_t ticks, size_t *ret_again) {
    static const uint32_t ends[] = {[UNWIND_BOTTOM] = CHAIN_WHOLE,
                                    [UNWIND_CUT] = CHAIN_CUT,
                                    [UNWIND_DEEP] = CHAIN_LIMITED,
                                    [UNWIND_LOST] = CHAIN_LOST};
    const uint64_t *registers = unwind_registers(c->unwinder);
    enum unwind_end end = UNWIND_LOST;
    c->frames.count = 0;
    for (bool goes_on = true; goes_on;) {
        struct walked w = {.chain = CHAIN_NONE};
        memcpy(w.registers, registers, sizeof w.registers);
        *ret_again = c->last.frames.count;
        if (registers[REGS_DWARF_SP] >= same)
            *ret_again = find_again(&c->last, registers);
        if (may_join(c, *ret_again))
            return c->last.end_chain;
        if (!was_there(c, registers[REGS_DWARF_PC], ticks)) {
            end = UNWIND_LOST;
            break;
        }
        goes_on = unwind_next(c->unwinder, &w.frame, &end);
        ARRAY_PUSH(&c->frames, w);
    }
    *ret_again = c->last.frames.count;
    return ends[end];
}

/* The chain of the frames that were walked through, and of the last slice's from number AGAIN on.
 * All these are the last slice's then. */
static uint32_t number(struct callers *c, uint32_t end, size_t again, struct chains *chains) {
    struct last *l = &c->last;
    size_t fresh = c->frames.count;
    uint32_t chain = again < l->frames.count ? l->frames.at[again].chain : end;
    for (size_t i = fresh; i-- > 0;) {
        struct walked *w = &c->frames.at[i];
        w->chain = chain = chains_add(chains, chain, place_of(c, &w->frame, chains));
    }
    for (size_t i = again; i < l->frames.count; i++)
        ARRAY_PUSH(&c->frames, l->frames.at[i]);
    walked_array frames = l->frames;
    l->frames = c->frames;
    c->frames = frames;
    l->end_chain = end;
    return chain;
}

/* The first frame is the caller's, as it will be when the call has returned. */
static uint32_t find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                     size_t bytes, struct chains *chains) {
    const uint64_t sp = e->sp;
    struct unwind_piece piece = {sp, (const uint8_t *)s->words, bytes};
    struct unwind_stack stack = {.pieces = &piece, .count = 1, .returned = true, .most = c->most};
    size_t again;
    regs_set_slice(&stack.regs, s->registers, sp, s->words[0]);
    if (!c->unwinder || !unwind_is_possible(c->unwinder, regs_pc(&stack.regs)))
        return bytes ? CHAIN_LOST : CHAIN_CUT;
    if (c->last.in != chains_serial(chains))
        c->last.frames.count = 0;
    c->last.in = chains_serial(chains);
    unwind_begin(c->unwinder, &stack);
    uint32_t end = walk(c, same_from(&c->last, s, sp, bytes), e->ticks, &again);
    keep_words(&c->last, s, sp, bytes);
    return number(c, end, again, chains);
}

uint32_t callers_find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                      struct chains *chains) {
    size_t bytes = slice_bytes(s, e->sp);
    bool nothing = s->whole && s->end == e->sp; /* of the stack could be looked at */
    if (!bytes && !nothing)
        return CHAIN_MISSED;
    pthread_mutex_lock(&c->lock);
    uint32_t chain = find(c, s, e, bytes, chains);
    pthread_mutex_unlock(&c->lock);
    return chain;
}

size_t callers_pass(struct callers *c, struct stack_slice *s, struct chains *chains,
                    const struct trace_event *e, struct trace_event ret[CALLERS_EVENTS]) {
    size_t n = 0;
    if (slice_take(s, e))
        return 0;
    if ((e->site & 3) == EVENT_ENTRY && stack_functions_has(c->asked, e->site >> 2)) {
        uint32_t chain = callers_find(c, s, e, chains);
        ret[n++] =
            (struct trace_event){e->ticks, (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL, chain};
    }
    slice_forget(s);
    ret[n++] = *e;
    return n;
}
