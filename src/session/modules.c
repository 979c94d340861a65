/* Which modules of a space are patched: what is mapped, what of it is wanted, what is gone. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "session/breakpoints.h"
#include "session/libcalls.h"
#include "session/patcher.h"
#include "session/program.h"
#include "session/space.h"
#include "target/auxv.h"
#include "target/maps.h"

static struct patched *find_mapped(struct space *s, taddr_t text) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (s->modules.at[i].text == text)
            return &s->modules.at[i];
    return NULL;
}

static bool maps_file_of(const struct map *m, const struct patched *p) {
    return m && m->inode == p->inode && m->device == p->device;
}

/* Programs may move their code to other memory at its place, patches and all. */
static bool still_mapped(const struct space *s, const struct maps *maps, const struct patched *p) {
    const struct map *m = maps_at(maps, p->text);
    return m && m->executable && (maps_file_of(m, p) || patcher_stands(p, s->remote.memory_fd));
}

/* Modules that the dynamic linker has unmapped: their areas are ours to unmap. */
static void drop_gone(struct space *s, pid_t caller, const struct maps *maps) {
    for (size_t i = 0; i < s->modules.count;) {
        struct patched *p = &s->modules.at[i];
        if (still_mapped(s, maps, p)) {
            i++;
            continue;
        }
        patcher_unmap(p, caller, &s->remote, NULL);
        patcher_forget(p);
        s->modules.at[i] = s->modules.at[--s->modules.count];
    }
}

struct update {
    bool ahead; /* nothing is installed yet */
    const struct space_context *ctx;
    struct space *space;
    pid_t caller;
    struct maps *maps;
    struct map program, loader; /* one map of each; a static program is its own loader */
};

/* The map that holds what TID's auxiliary vector says under TYPE. */
static struct map map_from_auxv(const struct maps *maps, pid_t tid, uint64_t type) {
    const struct map *m = maps_at(maps, auxv_value(tid, type));
    return m ? *m : (struct map){0};
}

/* A process that is gone needs no words. */
static void warn(const struct space_context *ctx, const struct err *err) {
    if (ctx->options->warn && err->code != ESRCH)
        ctx->options->warn(ctx->options->ctx, err->text);
}

static void tell_module(const struct update *u, const struct patched *p) {
    breakpoints_tell(u->ctx->options, p);
    catalog_describe(u->ctx->catalog, p->entry, &p->code->emitted);
    trace_writer_map(u->ctx->writer, &(struct trace_map){.pid = (uint32_t)u->space->pid,
                                                         .first_id = p->entry->first_id,
                                                         .bias = p->bias,
                                                         .ticks = 0});
}

static bool is_same(const struct patched *a, const struct patched *b) {
    return a->inode == b->inode && a->device == b->device && a->bias == b->bias;
}

static struct patched *find_prepared(struct space *s, const struct patched *p) {
    for (size_t i = 0; i < s->prepared.count; i++)
        if (is_same(&s->prepared.at[i], p))
            return &s->prepared.at[i];
    return NULL;
}

/* A module may have several executable maps: the first stands for all. */
static bool is_known(struct space *s, const struct patched *p) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (is_same(&s->modules.at[i], p))
            return true;
    return false;
}

/* What was chosen ahead may be taken by now: then it is chosen anew. Returns whether it is patched;
 * *RET_TOLD: the trace knows. */
static bool install(struct update *u, struct patched *p, const struct patch_request *request,
                    bool *ret_told) {
    struct patched *ready = find_prepared(u->space, p);
    struct err err = {0};
    *ret_told = false;
    if (ready) {
        *p = *ready;
        *ready = u->space->prepared.at[--u->space->prepared.count];
        *ret_told = patcher_install(p, request, NULL) == 0;
    }
    if (*ret_told || patcher_apply(p, request, &err) == 0)
        return true;
    warn(u->ctx, &err);
    return false;
}

static bool prepare_patches(struct update *u, struct patched *p,
                            const struct patch_request *request) {
    struct err err = {0};
    if (patcher_prepare(p, request, &err) == 0) {
        ARRAY_PUSH(&u->space->prepared, *p);
        return true;
    }
    warn(u->ctx, &err);
    return false;
}

static void patch_module(struct update *u, struct patched *p, bool wanted, bool hook) {
    struct patch_request request = {.space = u->space,
                                    .caller = u->caller,
                                    .maps = u->maps,
                                    .selected = wanted,
                                    .controls = u->ctx->options->libcalls,
                                    .from = u->space->program.text,
                                    .ring_bytes = u->ctx->ring_bytes,
                                    .overflow = u->ctx->options->overflow};
    struct err err = {0};
    if (hook)
        request.hook = patcher_loader_hook(p->entry);
    if (hook && !request.hook) {
        err_set(&err, ENOENT, "no-hook",
                "%s: does not tell what it loads: libraries loaded later are left untraced",
                p->entry->module->path);
        if (!map_is_same_file(&u->program, &u->loader)) /* else it may load nothing at all */
            warn(u->ctx, &err);
        if (!wanted)
            return;
    }
    bool told = false;
    bool done = u->ahead ? prepare_patches(u, p, &request) : install(u, p, &request, &told);
    if (done && wanted && !told)
        tell_module(u, p);
}

struct newcomer { /* a file that is mapped and not known yet in this space */
    struct patched patched;
    struct map map;
    bool wanted, hook;
    const struct libcalls *calls; /* those that the program makes into it; NULL: none */
    bool program;                 /* that is it */
};
typedef ARRAY(struct newcomer) newcomer_array;

/* Whether M is of the executable whose library calls are to be traced. */
static bool is_program(const struct update *u, const struct map *m) {
    return u->ctx->options->libcalls && map_is_same_file(m, &u->program);
}

static void look_at(struct update *u, const struct map *m, newcomer_array *ret) {
    struct newcomer n = {.patched = {.text = m->start, .device = m->device, .inode = m->inode},
                         .map = *m};
    struct err err = {0};
    n.wanted = catalog_wants(u->ctx->catalog, m->path, map_is_same_file(m, &u->program));
    n.hook = map_is_same_file(m, &u->loader) && catalog_wants_libraries(u->ctx->catalog);
    n.program = is_program(u, m);
    if (u->space->program.entry && !n.program)
        n.calls = u->space->program.entry->libcalls;
    if (!n.wanted && !n.hook && !n.calls && !n.program)
        return;
    if (catalog_find(u->ctx->catalog, u->caller, m, &n.patched.entry, &err) < 0) {
        warn(u->ctx, &err);
        return;
    }
    n.wanted = n.wanted && catalog_may_select(u->ctx->catalog, n.patched.entry);
    if (n.calls && !libcalls_touch(n.calls, n.patched.entry->module))
        n.calls = NULL;
    if (n.wanted || n.hook || n.calls || n.program)
        ARRAY_PUSH(ret, n);
    else if (!u->ahead)
        ARRAY_PUSH(&u->space->modules, n.patched);
}

/* Says once why nothing of the file is traced. */
static void warn_of(const struct update *u, struct entry *e) {
    if (e->module->text_relocations && !e->why.code)
        err_set(&e->why, ENOEXEC, "text-relocations",
                "%s: its code is changed while it is loaded (DT_TEXTREL): left untraced: link it "
                "without text relocations to trace it",
                e->module->path);
    if (e->why.code && !e->warned)
        warn(u->ctx, &e->why);
    e->warned = true;
}

/* Returns whether more than the hook is to be patched: of the program itself it may be just what
 * tells of calls that are left. */
static bool prepare(struct update *u, const struct newcomer *n) {
    struct entry *e = n->patched.entry;
    if (!n->wanted && !n->calls && !n->program)
        return false;
    bool any = catalog_prepare(u->ctx->catalog, e, n->wanted, n->calls);
    return any || (n->program && e->plan && plan_has_controls(e->plan));
}

static void meet(struct update *u, struct newcomer *n) {
    struct patched *p = &n->patched;
    if (map_bias(&n->map, p->entry->module, &p->bias) && !is_known(u->space, p) &&
        !(u->ahead && find_prepared(u->space, p))) {
        bool wanted = prepare(u, n);
        if (n->wanted || n->calls || !p->entry->plan)
            warn_of(u, p->entry);
        if (p->entry->plan && (wanted || n->hook))
            patch_module(u, p, wanted, n->hook);
    }
    if (!u->ahead)
        ARRAY_PUSH(&u->space->modules, *p);
}

typedef ARRAY(struct entry *) entry_array;

static void add_once(entry_array *entries, struct entry *entry) {
    for (size_t i = 0; i < entries->count; i++)
        if (entries->at[i] == entry)
            return;
    ARRAY_PUSH(entries, entry);
}

/* Plans all newcomers together, then patches one by one. */
static void meet_all(struct update *u, newcomer_array *newcomers) {
    entry_array entries = {0};
    for (size_t i = 0; i < newcomers->count; i++)
        add_once(&entries, newcomers->at[i].patched.entry);
    catalog_plan(entries.at, entries.count);
    for (size_t i = 0; i < newcomers->count; i++)
        meet(u, &newcomers->at[i]);
    ARRAY_FREE(&entries);
}

/* Everything of MAPS that is not known yet. */
static void look_at_all(struct update *u) {
    newcomer_array newcomers = {0};
    u->program = map_from_auxv(u->maps, u->caller, AT_PHDR);
    u->loader = map_from_auxv(u->maps, u->caller, AT_BASE);
    if (!u->loader.inode)
        u->loader = u->program;
    program_find(u->ctx, u->space, u->caller, u->maps, &u->program);
    for (size_t i = 0; i < u->maps->list.count; i++) {
        const struct map *m = &u->maps->list.at[i];
        if (m->executable && m->path[0] == '/' && !find_mapped(u->space, m->start))
            look_at(u, m, &newcomers);
    }
    meet_all(u, &newcomers);
    ARRAY_FREE(&newcomers);
}

int space_update(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    struct maps maps;
    int rc = space_check_sandbox(s, caller, err);
    if (rc == 0)
        rc = maps_read(caller, &maps, err);
    if (rc < 0)
        return rc;
    maps_use_former_names(&maps);
    drop_gone(s, caller, &maps);
    look_at_all(&(struct update){.ctx = ctx, .space = s, .caller = caller, .maps = &maps});
    for (size_t i = 0; i < s->prepared.count; i++) /* unmapped meanwhile */
        patcher_forget(&s->prepared.at[i]);
    s->prepared.count = 0;
    breakpoints_look(s);
    maps_done(&maps);
    return 0;
}

int space_prepare(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    struct maps maps;
    int rc = maps_read(caller, &maps, err);
    if (rc < 0)
        return rc;
    maps_use_former_names(&maps);
    look_at_all(
        &(struct update){.ahead = true, .ctx = ctx, .space = s, .caller = caller, .maps = &maps});
    maps_done(&maps);
    return 0;
}

int space_restore(struct space *s, pid_t tid, struct err *err) {
    struct maps maps;
    int rc = maps_read(tid, &maps, err);
    if (rc < 0)
        return rc;
    for (size_t i = s->modules.count; i-- > 0;) {
        struct patched *p = &s->modules.at[i]; /* one may be unmapped, and not yet reported to us */
        int failed = still_mapped(s, &maps, p) ? patcher_undo(p, s->remote.memory_fd, err) : 0;
        rc = rc < 0 ? rc : failed;
    }
    maps_done(&maps);
    return rc;
}
