/* Unwinds slices into chains of callers, and shares what equal stacks have in common. */
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

struct file { /* a mapped file */
    dev_t device;
    ino_t inode;           /* 0: the vDSO */
    int fd;                /* −1: it cannot be opened */
    struct module *module; /* its symbols; NULL: not loaded yet, or not possible */
    bool tried;
};

struct known_pc { /* a pc, and its place */
    taddr_t pc;   /* 0: free */
    uint32_t place;
    uint64_t serial; /* chains_serial() of the place's chains */
};

struct walked {                           /* a frame */
    uint64_t registers[REGS_DWARF_COUNT]; /* at the frame's beginning */
    struct unwind_frame frame;
    uint32_t chain; /* that begins with it */
};
typedef ARRAY(struct walked) walked_array;

struct last_slice {
    uint64_t serial; /* chains_serial() */
    uint64_t sp, end;
    regs_word_t *words;
    size_t room;
    walked_array frames;
    uint32_t end_chain; /* CHAIN_* value at its end */
};

struct callers {
    atomic_uint refs;
    pthread_mutex_t lock; /* guards all fields below */
    uint32_t most;
    const struct stack_functions *asked;
    struct maps maps;
    uint64_t *since;  /* by map, ticks: events from then on may lead into it */
    uint64_t changed; /* the latest in `since` */
    ARRAY(struct file) files;
    struct unwinder *unwinder;
    struct known_pc *table; /* open addressing, at most half full */
    size_t room, count;
    walked_array frames;
    struct last_slice last_slice;
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

/* A descriptor of MAP's file for the unwinder. */
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

/* The name of the function; without suffix if SYMBOL is a part of it that lies elsewhere
 * (.cold). */
static char *function_name(const char *symbol) {
    const char *cold = strstr(symbol, ".cold");
    return cold ? mem_printf("%.*s", (int)(cold - symbol), symbol) : mem_strdup(symbol);
}

/* The symbol of the code at ADDR, of a function if possible; NULL: none. A function of unknown size
 * extends to the next symbol (_start on 32-bit Arm). */
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
            s = &m->symbols[--i]; /* the alias to show comes first */
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

/* The place of FRAME: the function of the call before its pc or, if EXACT, of the instruction at
 * pc. */
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

/* ---- places by pc ---- */

static struct known_pc *find_known(const struct callers *c, taddr_t pc) {
    size_t i = (pc * 0x9e3779b97f4a7c15u) >> 32 & (c->room - 1);
    while (c->table[i].pc && c->table[i].pc != pc)
        i = (i + 1) & (c->room - 1);
    return &c->table[i];
}

static void grow(struct callers *c) {
    struct known_pc *old = c->table;
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
    struct known_pc *k = find_known(c, key);
    if (k->pc && k->serial == chains_serial(chains))
        return k->place;
    if (!k->pc && ++c->count > c->room / 2) {
        grow(c);
        k = find_known(c, key);
    }
    *k = (struct known_pc){key, place_at(c, frame, chains), chains_serial(chains)};
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
    c->last_slice.frames.count = 0;
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

/* For each of MAPS, since when it is mapped: now, unless it is among the present maps. At first,
 * since ever: no event was written before. */
static uint64_t *map_times(struct callers *c, const struct maps *maps) {
    uint64_t *since = mem_alloc(maps->list.count * sizeof *since), now = clock_ticks();
    for (size_t i = 0; c->unwinder && i < maps->list.count; i++) {
        const struct map *map = &maps->list.at[i], *had = maps_at(&c->maps, map->start);
        since[i] = had && is_same(map, had) ? c->since[had - c->maps.list.at] : now;
    }
    if (c->unwinder)
        c->changed = now;
    return since;
}

/* Files that are not mapped any more stay open: that costs little, and they may come again. */
static void use_maps(struct callers *c, pid_t tid, const struct maps *maps) {
    int memory_fd = -1;
    uint64_t *since = map_times(c, maps);
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
    ARRAY_FREE(&c->last_slice.frames);
    free(c->last_slice.words);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- slices ---- */

/*
 * Most slices differ from the one before only in their lowest words. Where two slices are equal
 * from some address up to their ends, both may have a frame with the same pc and registers. Then
 * all callers of that frame are the same.
 */

/* The address from which on the slice of BYTES at SP equals the last one; UINT64_MAX: nowhere. */
static uint64_t same_from(const struct last_slice *l, const struct stack_slice *s, uint64_t sp,
                          size_t bytes) {
    uint64_t at = sp + bytes, low = sp > l->sp ? sp : l->sp;
    if (at != l->end)
        return UINT64_MAX;
    while (at > low && s->words[(at - sp) / WORD - 1] == l->words[(at - l->sp) / WORD - 1])
        at -= WORD;
    return at;
}

static void save_words(struct last_slice *l, const struct stack_slice *s, uint64_t sp,
                       size_t bytes) {
    if (bytes / WORD > l->room) {
        l->room = bytes / WORD * 2;
        l->words = mem_resize(l->words, l->room, sizeof *l->words);
    }
    memcpy(l->words, s->words, bytes);
    l->sp = sp;
    l->end = sp + bytes;
}

/* Index of the last slice's frame that has REGISTERS; the number of frames: none. Frames are in the
 * order of their stack pointers, except signal frames. */
static size_t find_in_last(const struct last_slice *l, const uint64_t *registers) {
    size_t i = 0, count = l->frames.count;
    while (i < count && l->frames.at[i].registers[REGS_DWARF_SP] < registers[REGS_DWARF_SP])
        i++;
    bool same = i < count &&
                memcmp(l->frames.at[i].registers, registers, sizeof l->frames.at[i].registers) == 0;
    return same ? i : count;
}

/* Whether the walk may continue with the last walk's frames from index AGAIN on. */
static bool may_continue_as_last(const struct callers *c, size_t again) {
    const struct last_slice *l = &c->last_slice;
    size_t here = c->frames.count, rest = l->frames.count - again;
    return rest && (l->end_chain == CHAIN_LIMITED ? here == again : here + rest <= c->most);
}

/* Whether the map at PC was already there at TICKS. */
static bool was_mapped(const struct callers *c, taddr_t pc, uint64_t ticks) {
    const struct map *m = ticks < c->changed ? maps_at(&c->maps, pc) : NULL;
    return !m || c->since[m - c->maps.list.at] <= ticks;
}

/* Walks the begun stack to its end, or to a frame from which the last slice was walked: *RET_AGAIN
 * is its index. The stack is of time TICKS, and equals the last one from SAME on. Leaves the new
 * frames in c->frames. Returns the CHAIN_* value of the end. */
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
        *ret_again = c->last_slice.frames.count;
        if (registers[REGS_DWARF_SP] >= same)
            *ret_again = find_in_last(&c->last_slice, registers);
        if (may_continue_as_last(c, *ret_again))
            return c->last_slice.end_chain;
        if (!was_mapped(c, registers[REGS_DWARF_PC], ticks)) {
            end = UNWIND_LOST;
            break;
        }
        goes_on = unwind_next(c->unwinder, &w.frame, &end);
        ARRAY_PUSH(&c->frames, w);
    }
    *ret_again = c->last_slice.frames.count;
    return ends[end];
}

/* The chain of the new frames and of the last slice's from index AGAIN on. All of them become the
 * last slice's. */
static uint32_t number_chain(struct callers *c, uint32_t end, size_t again, struct chains *chains) {
    struct last_slice *l = &c->last_slice;
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

/* The first frame is the caller's, as it will be after the call's return. */
static uint32_t find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                     size_t bytes, struct chains *chains) {
    const uint64_t sp = e->sp;
    struct unwind_piece piece = {sp, (const uint8_t *)s->words, bytes};
    struct unwind_stack stack = {.pieces = &piece, .count = 1, .returned = true, .most = c->most};
    size_t again;
    regs_set_slice(&stack.regs, s->registers, sp, s->words[0]);
    if (!c->unwinder || !unwind_is_possible(c->unwinder, regs_pc(&stack.regs)))
        return bytes ? CHAIN_LOST : CHAIN_CUT;
    if (c->last_slice.serial != chains_serial(chains))
        c->last_slice.frames.count = 0;
    c->last_slice.serial = chains_serial(chains);
    unwind_begin(c->unwinder, &stack);
    uint32_t end = walk(c, same_from(&c->last_slice, s, sp, bytes), e->ticks, &again);
    save_words(&c->last_slice, s, sp, bytes);
    return number_chain(c, end, again, chains);
}

uint32_t callers_find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                      struct chains *chains) {
    size_t bytes = slice_bytes(s, e->sp);
    bool nothing = s->whole && s->end == e->sp; /* nothing of the stack was readable */
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
