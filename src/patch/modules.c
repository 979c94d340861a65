/* Finds the modules in a process's maps, prepares and patches new ones, and forgets gone ones. */
#include "patch/modules.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "patch/annex.h"
#include "patch/breakpoints.h"
#include "patch/guard.h"
#include "patch/install.h"
#include "patch/lane_guard.h"
#include "patch/left_out.h"
#include "patch/patcher.h"
#include "patch/program.h"
#include "patch/thread_positions.h"
#include "ring/callers.h"
#include "select/libcalls.h"
#include "select/mapped.h"
#include "target/auxv.h"
#include "target/maps.h"
#include "target/status.h"
#include "trace/captures.h"

int modules_read_maps(pid_t tid, struct maps *ret, struct err *err) {
    int rc = maps_read(tid, ret, err);
    if (rc == 0)
        maps_use_former_names(ret);
    return rc;
}

static struct patched *find_mapped(struct space *s, taddr_t text) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (s->modules.at[i].text == text)
            return &s->modules.at[i];
    return NULL;
}

static bool maps_file_of(const struct map *m, const struct patched *p) {
    return m && m->inode == p->inode && m->device == p->device;
}

/* A program may move its code to other memory at the same address, patches and all. */
bool modules_still_mapped(const struct space *s, const struct maps *maps, const struct patched *p) {
    const struct map *m = maps_at(maps, p->text);
    return m && m->executable &&
           (maps_file_of(m, p) ||
            patched_is_written(p, s->remote.memory_fd, !space_is_unpatched(s)));
}

void modules_drop_gone(struct space *s, pid_t caller, const struct maps *maps) {
    for (size_t i = 0; i < s->modules.count;) {
        struct patched *p = &s->modules.at[i];
        if (modules_still_mapped(s, maps, p)) {
            i++;
            continue;
        }
        patcher_unmap(p, s, caller, NULL);
        patched_forget(p);
        s->modules.at[i] = s->modules.at[--s->modules.count];
    }
}

struct update {
    bool ahead; /* prepares only: installs nothing */
    bool anew;  /* prepares all modules anew, and writes nothing to the trace */
    const struct space_context *ctx;
    struct space *space;
    pid_t caller;
    struct maps *maps;
    taddr_t break_start;
    struct map program, loader; /* one map of each; a static program is its own loader */
};

/* The map that holds the address of TYPE in the auxiliary vector. */
static struct map map_from_auxv(const struct maps *maps, const struct auxv *auxv, uint64_t type) {
    const struct map *m = maps_at(maps, auxv_entry(auxv, type));
    return m ? *m : (struct map){0};
}

/* The kernel frees the memory of a killed process before its end is reported, so each access fails.
 * That needs no warning. */
void modules_warn(const struct space_context *ctx, pid_t caller, const struct err *err) {
    struct regs regs;
    bool gone = err->code == ESRCH || (caller && thread_get_regs(caller, &regs) == -ESRCH);
    if (!gone)
        report_warn(&ctx->options->report, err->text);
}

static void warn_about(const struct update *u, const struct err *err) {
    modules_warn(u->ctx, u->ahead ? 0 : u->caller, err);
}

static void write_module(const struct space_context *ctx, const struct space *s,
                         struct patched *p) {
    breakpoints_warn(ctx->options, p);
    left_out_write(ctx, s, p);
    trace_writer_map(ctx->writer, &(struct trace_map){.pid = (uint32_t)s->pid,
                                                      .first_id = p->traced_module->first_id,
                                                      .bias = p->bias,
                                                      .ticks = 0});
    p->in_trace = true;
}

static struct patched *find_prepared(struct space *s, const struct patched *p, bool annex) {
    for (size_t i = 0; i < s->prepared.count; i++)
        if (patched_is_same(&s->prepared.at[i], p) && !s->prepared.at[i].first == !annex)
            return &s->prepared.at[i];
    return NULL;
}

/* Moves P's prepared form from the space's list to RET. */
static bool take_prepared(struct space *s, const struct patched *p, bool annex,
                          struct patched *ret) {
    struct patched *ready = find_prepared(s, p, annex);
    if (!ready)
        return false;
    *ret = *ready;
    *ready = s->prepared.at[--s->prepared.count];
    return true;
}

/* A module may have several executable maps: the first one known stands for all. */
static struct patched *find_known(struct space *s, const struct patched *p) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (patched_is_same(&s->modules.at[i], p) && !s->modules.at[i].first)
            return &s->modules.at[i];
    return NULL;
}

static bool may_apply(const struct space *s, const struct patched *p) {
    return p->state != AREA_UNPATCHABLE && !(s->positions && s->positions->as_prepared);
}

/* If the area that was chosen ahead is taken by now, chooses another. */
static void install(struct update *u, struct patched *p, const struct patch_request *request) {
    struct err err = {0};
    bool done = take_prepared(u->space, p, false, p) && patcher_install(p, request, &err) == 0;
    if (!done && may_apply(u->space, p)) {
        p->in_trace = false;
        done = patcher_apply(p, request, &err) == 0;
    }
    p->traced = done && request->selected;
    p->guards = done && (request->guards[0] || request->guards[1]);
    p->traced_module->installed |= p->traced;
    if (done)
        return;
    module_table_note_failure(u->ctx->module_table, p->traced_module);
    warn_about(u, &err);
}

static void prepare_patches(struct update *u, struct patched *p,
                            const struct patch_request *request) {
    struct err err = {0};
    if (patcher_prepare(p, request, &err) < 0) {
        warn_about(u, &err);
        return;
    }
    p->traced = request->selected;
    p->guards = request->guards[0] || request->guards[1];
    if (!u->anew) /* else the text holds spoor's patches */
        patcher_check_early(p, u->space);
    ARRAY_PUSH(&u->space->prepared, *p);
}

/* Whether calls may be left out whose entries would have shown that others were unwound. */
static bool judges_calls(const struct module_table *table) {
    return captures_have_conditions(module_table_captures(table));
}

static struct patch_request request_for(const struct update *u, bool selected) {
    return (struct patch_request){.space = u->space,
                                  .caller = u->caller,
                                  .maps = u->maps,
                                  .break_start = u->break_start,
                                  .codes = u->ctx->codes,
                                  .selected = selected,
                                  .controls = u->ctx->options->libcalls ||
                                              judges_calls(u->ctx->module_table),
                                  .from = u->space->program.text,
                                  .ring_bytes = u->ctx->ring_bytes,
                                  .overflow = u->ctx->options->overflow};
}

/* Whether libraries that are loaded later are traced. */
static bool wants_libraries(const struct space_context *ctx) {
    return ctx->options->stacks.frames || module_table_wants_libraries(ctx->module_table);
}

/* Whether spoor must know of libraries that are loaded later: they are traced, or libc is guarded.
 */
static bool wants_hook(const struct update *u) {
    struct traced_module *program;
    return wants_libraries(u->ctx) ||
           module_table_find(u->ctx->module_table, u->caller, &u->program, &program, NULL) < 0 ||
           guard_is_useful(program->module, u->caller);
}

/* Warns that libraries that are loaded later are not seen, if they are wanted. */
static void warn_no_hook(const struct update *u, const struct patched *p) {
    struct err err = {0};
    bool is_static = map_is_same_file(&u->program, &u->loader); /* it may load nothing at all */
    err_set(&err, ENOENT, "no-hook",
            "%s: spoor cannot see what it loads: libraries loaded later are left untraced",
            p->traced_module->module->path);
    if (!is_static && wants_libraries(u->ctx))
        warn_about(u, &err);
}

static void patch_module(struct update *u, struct patched *p, bool wanted, bool hook) {
    struct patch_request request = request_for(u, wanted);
    bool guards = guard_sites(p->traced_module, request.guards);
    if (hook)
        request.hook = patched_loader_hook(p->traced_module);
    if (request.hook)
        u->space->loader_hook = request.hook + p->bias;
    if (hook && !request.hook)
        warn_no_hook(u, p);
    if (!wanted && !request.hook && !guards && !p->lane_guards)
        return;
    if (u->ahead)
        prepare_patches(u, p, &request);
    else
        install(u, p, &request);
}

struct newcomer { /* a mapped file that this space does not know yet */
    struct patched patched;
    struct map map;
    bool wanted, hook;
    bool probes;                  /* --usdt chooses some of its probes */
    bool guard;                   /* it may hold guarded functions */
    const struct libcalls *calls; /* the program's calls of this library; NULL: none */
    bool program;                 /* it is the program itself */
    bool attempted;               /* spoor has patched it, or has tried to */
};
typedef ARRAY(struct newcomer) newcomer_array;

/* Whether M belongs to the executable whose library calls are traced. */
static bool is_program(const struct update *u, const struct map *m) {
    return u->ctx->options->libcalls && map_is_same_file(m, &u->program);
}

static void add_newcomer(struct update *u, const struct map *m, newcomer_array *ret) {
    struct newcomer n = {.patched = {.text = m->start, .device = m->device, .inode = m->inode},
                         .map = *m};
    struct err err = {0};
    n.wanted = module_table_wants(u->ctx->module_table, m->path, map_is_same_file(m, &u->program));
    n.hook = map_is_same_file(m, &u->loader) && wants_hook(u);
    n.guard = guard_may_be_in(m->path) ||
              (map_is_same_file(m, &u->program) && map_is_same_file(m, &u->loader));
    n.program = is_program(u, m);
    if (u->space->program.executable && !n.program)
        n.calls = u->space->program.executable->libcalls;
    const bool may_have_probes = module_table_has_probes(u->ctx->module_table);
    if (!n.wanted && !n.hook && !n.guard && !n.calls && !n.program && !may_have_probes)
        return;
    if (module_table_find(u->ctx->module_table, u->caller, m, &n.patched.traced_module, &err) < 0) {
        warn_about(u, &err);
        return;
    }
    n.wanted = n.wanted && module_table_may_select(u->ctx->module_table, n.patched.traced_module);
    n.probes =
        may_have_probes && module_table_wants_probes(u->ctx->module_table, n.patched.traced_module);
    if (!n.wanted && !n.calls && !n.probes &&
        !n.patched.traced_module->plan) /* --tier is not about hooks */
        n.patched.traced_module->only = TIER_NONE;
    if (n.calls && !libcalls_defined_in(n.calls, n.patched.traced_module->module))
        n.calls = NULL;
    if (n.wanted || n.hook || n.guard || n.calls || n.program || n.probes)
        ARRAY_PUSH(ret, n);
    else if (!u->ahead)
        ARRAY_PUSH(&u->space->modules, n.patched);
}

/* Warns once why nothing of the file is traced. */
static void warn_untraced(const struct update *u, struct traced_module *traced) {
    if (traced->module->text_relocations && !traced->why.code)
        err_set(&traced->why, ENOEXEC, "text-relocations",
                "%s: its code is changed while it is loaded (DT_TEXTREL): left untraced: link it "
                "without text relocations to trace it",
                traced->module->path);
    if (traced->why.code && !traced->warned)
        warn_about(u, &traced->why);
    traced->warned = true;
}

/* Returns whether more than the hook is to be patched. For the program itself that may be control
 * sites only. */
static bool prepare(struct update *u, const struct newcomer *n) {
    struct traced_module *traced = n->patched.traced_module;
    if (!n->wanted && !n->calls && !n->program && !n->probes)
        return false;
    bool any = module_table_prepare(u->ctx->module_table, traced, n->wanted, n->calls);
    return any || (n->program && traced->plan && plan_has_controls(traced->plan));
}

static void patch_newcomer(struct update *u, struct newcomer *n) {
    struct patched *p = &n->patched;
    if (mapped_bias(&n->map, p->traced_module->module, &p->bias) && !find_known(u->space, p) &&
        !(u->ahead && find_prepared(u->space, p, false))) {
        bool wanted = prepare(u, n);
        if (n->wanted || n->calls || n->probes || !p->traced_module->plan)
            warn_untraced(u, p->traced_module);
        p->lane_guards = p->traced_module->plan && plan_lane_write(p->traced_module->plan);
        if (p->lane_guards && !lane_guard_is_possible(p))
            u->space->lane_conflict = LANE_CONFLICT_CODE;
        n->attempted = p->traced_module->plan && !u->space->lane_conflict &&
                       (wanted || n->hook || n->guard || p->lane_guards);
        if (n->attempted)
            patch_module(u, p, wanted, n->hook);
        if (p->lane_guards && !lane_guard_is_set(p))
            u->space->lane_conflict = LANE_CONFLICT_CODE;
    }
    if (!u->ahead)
        ARRAY_PUSH(&u->space->modules, *p);
}

/* As install(), for P's annex. A prepared annex serves only if P's code is still the same. */
static bool install_annex(struct update *u, struct patched *p, const struct patch_request *request,
                          struct patched *ret) {
    *ret = (struct patched){0};
    bool ready = take_prepared(u->space, p, true, ret) && ret->first == p->code, done = false;
    if (ready) {
        annex_separate(p, ret);
        done = patcher_install(ret, request, NULL) == 0;
    }
    if (!done && ret->state != AREA_UNPATCHABLE) {
        patched_forget(ret);
        ready = may_apply(u->space, p) && annex_prepare(p, request, ret);
        done = ready && patcher_install(ret, request, NULL) == 0;
    }
    if (done)
        annex_join(p, ret);
    return done || ret->state == AREA_UNPATCHABLE;
}

static bool make_annex(struct update *u, struct patched *p, struct patched *ret) {
    struct patch_request request = request_for(u, true);
    if (!u->ahead)
        return install_annex(u, p, &request, ret);
    if (!annex_prepare(p, &request, ret))
        return false;
    annex_join(p, ret);
    if (!u->anew)
        patcher_check_early(ret, u->space);
    return true;
}

/* All modules have their first areas: makes the annexes they need, and writes the modules to the
 * trace. */
static void add_annexes(struct update *u, const newcomer_array *newcomers) {
    __typeof__(u->space->modules) annexes = {0};
    struct patched annex;
    for (size_t i = 0; i < newcomers->count; i++) {
        const struct newcomer *n = &newcomers->at[i];
        struct patched *p = u->ahead ? find_prepared(u->space, &n->patched, false)
                                     : find_known(u->space, &n->patched);
        if (!n->attempted || !p || !p->traced)
            continue;
        if (make_annex(u, p, &annex))
            ARRAY_PUSH(&annexes, annex);
        if (!p->in_trace && !u->anew)
            write_module(u->ctx, u->space, p);
    }
    for (size_t i = 0; i < annexes.count && u->ahead; i++)
        ARRAY_PUSH(&u->space->prepared, annexes.at[i]);
    for (size_t i = 0; i < annexes.count && !u->ahead; i++)
        ARRAY_PUSH(&u->space->modules, annexes.at[i]);
    ARRAY_FREE(&annexes);
}

typedef ARRAY(struct traced_module *) module_array;

static void add_once(module_array *modules_to_plan, struct traced_module *entry) {
    if (entry->plan || entry->why.code)
        return;
    for (size_t i = 0; i < modules_to_plan->count; i++)
        if (modules_to_plan->at[i] == entry)
            return;
    ARRAY_PUSH(modules_to_plan, entry);
}

static int compare_paths(const void *a, const void *b) {
    const struct map *x = &((const struct newcomer *)a)->map,
                     *y = &((const struct newcomer *)b)->map;
    const int order = strcmp(x->path, y->path);
    return order ? order : x->start < y->start ? -1 : x->start > y->start;
}

/* Modules get ids in the order in which they are patched. The kernel maps them in another order
 * each time; but kept code that has the same ids need not be changed. */
static void sort_by_path(newcomer_array *newcomers) {
    if (newcomers->count)
        qsort(newcomers->at, newcomers->count, sizeof *newcomers->at, compare_paths);
}

/* Plans all newcomers together, then patches them one by one. */
static void patch_newcomers(struct update *u, newcomer_array *newcomers) {
    module_array modules_to_plan = {0};
    u->break_start = newcomers->count ? status_break_start(u->caller) : 0;
    for (size_t i = 0; i < newcomers->count; i++)
        add_once(&modules_to_plan, newcomers->at[i].patched.traced_module);
    if (modules_to_plan.count)
        module_table_plan(modules_to_plan.at, modules_to_plan.count);
    for (size_t i = 0; i < newcomers->count; i++)
        patch_newcomer(u, &newcomers->at[i]);
    add_annexes(u, newcomers);
    ARRAY_FREE(&modules_to_plan);
}

/* Finds and patches all modules in the maps that are not known yet. */
static void patch_new_modules(struct update *u) {
    newcomer_array newcomers = {0};
    struct auxv auxv;
    auxv_read(u->caller, &auxv);
    u->program = map_from_auxv(u->maps, &auxv, AT_PHDR);
    u->loader = map_from_auxv(u->maps, &auxv, AT_BASE);
    if (!u->loader.inode)
        u->loader = u->program;
    program_find(u->ctx, u->space, u->caller, u->maps, &u->program);
    for (size_t i = 0; i < u->maps->list.count; i++) {
        const struct map *m = &u->maps->list.at[i];
        if (m->executable && m->path[0] == '/' && !find_mapped(u->space, m->start))
            add_newcomer(u, m, &newcomers);
    }
    sort_by_path(&newcomers);
    patch_newcomers(u, &newcomers);
    ARRAY_FREE(&newcomers);
}

void modules_follow(const struct space_context *ctx, struct space *s, pid_t caller,
                    struct maps *maps) {
    patch_new_modules(&(struct update){.ctx = ctx, .space = s, .caller = caller, .maps = maps});
    space_forget_prepared(s); /* their modules were unmapped meanwhile */
    breakpoints_count(s);
    guard_set_ranges(s);
    if (s->callers)
        callers_look(s->callers, caller);
}

int space_update(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    struct maps maps;
    if (space_is_unpatched(s))
        return 0;
    int rc = space_check_sandbox(s, caller, err);
    if (rc == 0)
        rc = modules_read_maps(caller, &maps, err);
    if (rc < 0)
        return rc;
    writable_text_set(&s->writable, &maps);
    modules_drop_gone(s, caller, &maps);
    modules_follow(ctx, s, caller, &maps);
    maps_done(&maps);
    return 0;
}

/* The kernel maps memory without a hint next to the libraries, where islands and areas must be. So
 * spoor's other memory goes where no 32-bit displacement reaches. */
static taddr_t room_far_away(const struct update *u) {
    const uint64_t apart = 8ull << 30, room = 8ull << 30, reach = 1ull << 40;
    taddr_t from = u->loader.start > 2 * apart ? u->loader.start - apart : u->loader.end + apart;
    return maps_find_room(u->maps, (struct span){from, from}, room, reach, 0);
}

int space_prepare(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    struct maps maps;
    int rc = modules_read_maps(caller, &maps, err);
    if (rc < 0)
        return rc;
    writable_text_set(&s->writable, &maps);
    struct update u = {.ahead = true, .ctx = ctx, .space = s, .caller = caller, .maps = &maps};
    patch_new_modules(&u);
    s->room = room_far_away(&u);
    maps_done(&maps);
    return 0;
}

/* Islands have few possible places: those that will be unmapped do not block them. */
static void without_islands(const struct space *s, struct maps *maps) {
    for (size_t i = 0; i < s->modules.count; i++) {
        const struct patched *p = &s->modules.at[i];
        for (size_t k = 0; k < p->islands; k++) {
            taddr_t at = patched_island_at(p, k);
            maps_remove(maps, at, at + ISLAND_BYTES);
        }
    }
}

int space_prepare_anew(const struct space_context *ctx, struct space *s, pid_t caller,
                       struct err *err) {
    struct maps maps;
    int rc = maps_read(caller, &maps, err);
    if (rc == 0 && !maps.list.count) {
        maps_done(&maps);
        return -ESRCH; /* the process ends */
    }
    if (rc < 0)
        return rc;
    space_forget_prepared(s);
    maps_use_former_names(&maps);
    without_islands(s, &maps);
    __typeof__(s->modules) present = s->modules;
    memset(&s->modules, 0, sizeof s->modules);
    patch_new_modules(&(struct update){
        .ahead = true, .anew = true, .ctx = ctx, .space = s, .caller = caller, .maps = &maps});
    ARRAY_FREE(&s->modules);
    s->modules = present;
    maps_done(&maps);
    return 0;
}

void space_write_prepared(const struct space_context *ctx, struct space *s) {
    for (size_t i = 0; i < s->prepared.count; i++)
        if (s->prepared.at[i].traced && !s->prepared.at[i].in_trace)
            write_module(ctx, s, &s->prepared.at[i]);
}

/* If the module could not be mapped, neither can its annex: both are made anew. */
static bool map_annex(struct space *s, pid_t caller, struct patched *annex) {
    struct patched *p = find_known(s, annex);
    if (!p) {
        patched_forget(annex);
        return false;
    }
    annex_separate(p, annex);
    bool done = patcher_map(annex, s, caller, NULL) == 0;
    if (done)
        annex_join(p, annex);
    return done;
}

void space_map_prepared(struct space *s, pid_t caller) {
    space_set_state(s, SPACE_COMING);
    for (size_t i = 0; i < s->prepared.count; i++) {
        struct patched *p = &s->prepared.at[i];
        if (!(p->first ? map_annex(s, caller, p) : patcher_map(p, s, caller, NULL) == 0))
            continue;
        p->traced_module->installed |= p->traced;
        ARRAY_PUSH(&s->modules, *p);
    }
    s->prepared.count = 0;
}

void space_fill_areas(struct space *s) {
    struct maps maps;
    if (maps_read(space_thread(s), &maps, NULL) == 0) {
        writable_text_set(&s->writable, &maps);
        maps_done(&maps);
    }
    for (size_t i = 0; i < s->modules.count; i++)
        patcher_fill(&s->modules.at[i], s);
}
