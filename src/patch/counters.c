/* Counts semaphores up and down, step by step as the undo log's states say. */
#include "patch/counters.h"

#include "target/memory.h"
#include "wire/undo.h"

static bool holds(const vaddr_t *list, size_t count, vaddr_t addr) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == addr)
            return true;
    return false;
}

vaddr_t *counters_of(const struct patched *p, size_t *ret_count) {
    const struct traced_module *m = p->traced_module;
    const size_t most = p->first ? 0 : m->choice.marks.count;
    vaddr_t *list = mem_alloc((most + 1) * sizeof *list);
    *ret_count = 0;
    for (size_t i = 0; i < most; i++) {
        const struct probe *probe = probes_at(&m->probes, m->choice.marks.at[i].at);
        const vaddr_t at = probe ? probe->semaphore : 0;
        if (at && !holds(list, *ret_count, at))
            list[(*ret_count)++] = at;
    }
    return list;
}

/* The part of the log that this file reads and writes. */
struct state {
    int fd;
    taddr_t log;
    struct undo_log head;
    struct undo_counter *counters;
};

static taddr_t counters_at(const struct state *s) { return s->log + sizeof s->head; }

static int read_state(const struct patched *p, int fd, struct state *ret, struct err *err) {
    *ret = (struct state){.fd = fd, .log = p->log};
    int rc = p->log ? memory_read(fd, p->log, &ret->head, sizeof ret->head, err) : 0;
    if (rc < 0 || ret->head.magic != UNDO_MAGIC || !ret->head.counter_count ||
        ret->head.counter_count > UNDO_MOST_COUNTERS)
        return rc < 0 ? rc : 0;
    const size_t bytes = ret->head.counter_count * sizeof *ret->counters;
    ret->counters = mem_alloc(bytes);
    return memory_read(fd, counters_at(ret), ret->counters, bytes, err);
}

static int set_step(struct state *s, enum undo_counted step, struct err *err) {
    s->head.counted = step;
    return memory_write(s->fd, s->log + offsetof(struct undo_log, counted), &s->head.counted,
                        sizeof s->head.counted, err);
}

/* Reads all counters into the log, and notes that they are about to be changed. */
static int begin(struct state *s, enum undo_counted step, struct err *err) {
    int rc = 0;
    for (uint32_t i = 0; i < s->head.counter_count && rc == 0; i++)
        rc = memory_read(s->fd, s->counters[i].at, &s->counters[i].before,
                         sizeof s->counters[i].before, err);
    if (rc == 0)
        rc = memory_write(s->fd, counters_at(s), s->counters,
                          s->head.counter_count * sizeof *s->counters, err);
    return rc < 0 ? rc : set_step(s, step, err);
}

static int add(const struct state *s, const struct undo_counter *c, int amount, struct err *err) {
    const uint16_t value = (uint16_t)(c->before + amount);
    return memory_write(s->fd, c->at, &value, sizeof value, err);
}

/* Changes all counters by AMOUNT: STEP, then END. */
static int change(struct state *s, enum undo_counted step, int amount, enum undo_counted end,
                  struct err *err) {
    int rc = begin(s, step, err);
    for (uint32_t i = 0; i < s->head.counter_count && rc == 0; i++)
        rc = add(s, &s->counters[i], amount, err);
    return rc < 0 ? rc : set_step(s, end, err);
}

/* A spoor was killed in the middle of a change: completes it to "down". */
static int finish(struct state *s, struct err *err) {
    const int amount = s->head.counted == UNDO_COUNTING_UP ? 1 : 0;
    int rc = 0;
    for (uint32_t i = 0; i < s->head.counter_count && rc == 0; i++) {
        struct undo_counter *c = &s->counters[i];
        uint16_t now;
        rc = memory_read(s->fd, c->at, &now, sizeof now, err);
        const bool is_up = rc == 0 && now == (uint16_t)(c->before + amount);
        c->before = now;
        if (is_up)
            rc = add(s, c, -1, err);
    }
    return rc < 0 ? rc : set_step(s, UNDO_COUNTED_DOWN, err);
}

int counters_raise(const struct patched *p, int fd, struct err *err) {
    struct state s;
    int rc = read_state(p, fd, &s, err);
    if (rc == 0 && s.counters && s.head.counted == UNDO_COUNTED_DOWN)
        rc = change(&s, UNDO_COUNTING_UP, 1, UNDO_COUNTED_UP, err);
    free(s.counters);
    return rc;
}

int counters_lower(const struct patched *p, int fd, struct err *err) {
    struct state s;
    int rc = read_state(p, fd, &s, err);
    if (rc == 0 && s.counters && s.head.counted == UNDO_COUNTED_UP)
        rc = change(&s, UNDO_COUNTING_DOWN, -1, UNDO_COUNTED_DOWN, err);
    else if (rc == 0 && s.counters && s.head.counted != UNDO_COUNTED_DOWN)
        rc = finish(&s, err);
    free(s.counters);
    return rc;
}
