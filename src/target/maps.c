/* Parses /proc/PID/maps, edits the array, and searches it for room. */
#include "target/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "arch/host.h"
#include "base/page.h"
#include "base/search.h"
#include "target/proc_memo.h"

/* Parses by hand: sscanf() takes longer than the kernel takes to write the line, and the program is
 * stopped meanwhile. LINE ends without a line feed. */
static bool parse_line(char *line, struct map *m) {
    enum { MODES = 4 };
    char *at, *modes;
    m->start = strtoull(line, &at, 16);
    if (*at != '-')
        return false;
    m->end = strtoull(at + 1, &modes, 16);
    if (strnlen(modes++, MODES + 1) <= MODES)
        return false;
    m->readable = modes[0] == 'r';
    m->writable = modes[1] == 'w';
    m->executable = modes[2] == 'x';
    m->shared = modes[3] == 's';
    m->offset = strtoull(modes + MODES, &at, 16);
    unsigned major = (unsigned)strtoul(at, &at, 16);
    if (*at != ':')
        return false;
    unsigned minor = (unsigned)strtoul(at + 1, &at, 16);
    m->device = makedev(major, minor);
    m->inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    m->code_image = strcmp(at, "/memfd:" CODE_IMAGE_NAME " (deleted)") == 0;
    if (m->code_image)
        m->inode = m->device = m->offset = 0;
    m->path = mem_strdup(m->code_image ? "" : at);
    return true;
}

/* Reads a kernel file to its end; the caller frees the text. NULL with errno. Makes few reads,
 * since the kernel searches anew for each one. */
static char *read_all(int fd) {
    enum { AT_ONCE = 1 << 16 };
    size_t size = 0, room = 0;
    AUTO_FREE char *text = NULL;
    ssize_t n;
    do {
        if (room - size <= AT_ONCE) {
            room = 2 * room + AT_ONCE + 1;
            text = mem_resize(text, room, 1);
        }
        n = read(fd, text + size, AT_ONCE);
        size += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    text[size] = '\0';
    return n < 0 ? NULL : steal(text);
}

static char *read_text(pid_t tid) {
    const char *kept = proc_memo_text(tid, MEMO_MAPS);
    char name[32];
    if (kept)
        return mem_strdup(kept);
    snprintf(name, sizeof name, "/proc/%d/maps", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *text = fd < 0 ? NULL : read_all(fd);
    if (text)
        proc_memo_keep(tid, MEMO_MAPS, text);
    return steal(text);
}

int maps_read(pid_t tid, struct maps *ret, struct err *err) {
    AUTO_FREE char *text = read_text(tid);
    if (!text) /* a part would look as if the rest were unmapped */
        return err_set(err, errno, "read-maps", "process %d: cannot read its memory map: %s", tid,
                       strerror(errno));
    struct maps maps = {0};
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct map m;
        *end = '\0';
        if (parse_line(line, &m))
            ARRAY_PUSH(&maps.list, m);
    }
    *ret = maps;
    return 0;
}

void maps_done(struct maps *maps) {
    for (size_t i = 0; i < maps->list.count; i++)
        free(maps->list.at[i].path);
    ARRAY_FREE(&maps->list);
}

void maps_add(struct maps *maps, taddr_t start, taddr_t end) {
    struct map added = {.start = start, .end = end, .path = mem_strdup("")};
    size_t i = maps->list.count;
    ARRAY_PUSH(&maps->list, added);
    for (; i > 0 && maps->list.at[i - 1].start > start; i--)
        maps->list.at[i] = maps->list.at[i - 1];
    maps->list.at[i] = added;
}

void maps_use_former_name(char *path) {
    static const char suffix[] = " (deleted)";
    size_t length = strlen(path), end = sizeof suffix - 1;
    if (length > end && strcmp(path + length - end, suffix) == 0)
        path[length - end] = '\0';
}

void maps_use_former_names(struct maps *maps) {
    for (size_t i = 0; i < maps->list.count; i++)
        maps_use_former_name(maps->list.at[i].path);
}

/* Cuts [START, END) out of map number I. Returns how many maps remain of it. */
static size_t cut_out(struct maps *maps, size_t i, taddr_t start, taddr_t end) {
    struct map *m = &maps->list.at[i], rest = *m;
    bool below = m->start<start, above = m->end> end;
    if (below)
        m->end = start;
    else if (above)
        m->start = end;
    if (below && above) {
        rest.start = end;
        rest.path = mem_strdup(m->path);
        ARRAY_GROW(&maps->list);
        memmove(&maps->list.at[i + 2], &maps->list.at[i + 1],
                (maps->list.count - i - 1) * sizeof rest);
        maps->list.at[i + 1] = rest;
        maps->list.count++;
    } else if (!below && !above) {
        free(m->path);
        memmove(m, m + 1, (maps->list.count - i - 1) * sizeof rest);
        maps->list.count--;
    }
    return (size_t)below + above;
}

void maps_remove(struct maps *maps, taddr_t start, taddr_t end) {
    for (size_t i = 0; i < maps->list.count;)
        i += maps->list.at[i].start < end && maps->list.at[i].end > start
                 ? cut_out(maps, i, start, end)
                 : 1;
}

const struct map *maps_at(const struct maps *maps, taddr_t addr) {
    size_t i = SEARCH(k, maps->list.count, maps->list.at[k].end <= addr);
    const struct map *m = i < maps->list.count ? &maps->list.at[i] : NULL;
    return m && m->start <= addr ? m : NULL;
}

static const uint64_t MIB = 1 << 20;
static const uint64_t BREAK_ROOM = 1024 << 20;
static const uint64_t STACK_ROOM = (REGS_WORD_BYTES < 8 ? 64 : 256) << 20;
static const taddr_t LOWEST = 0x100000;

/* The range into which map I may grow. A stack grows at most to the next map. */
static void with_room_to_grow(const struct maps *maps, size_t i, taddr_t *start, taddr_t *end) {
    const struct map *m = &maps->list.at[i];
    taddr_t before = i ? m[-1].end : 0;
    *start = m->start;
    *end = m->end;
    if (strcmp(m->path, "[heap]") == 0)
        *end += BREAK_ROOM;
    if (strcmp(m->path, "[stack]") == 0)
        *start = *start > before + STACK_ROOM ? *start - STACK_ROOM : before;
}

/* The highest free place for SIZE bytes in [BOTTOM, TOP). One pass down suffices: room to grow
 * reaches up only over maps that were passed already. */
static taddr_t room_below(const struct maps *maps, taddr_t bottom, taddr_t top, uint64_t size) {
    taddr_t at = page_down(top - size);
    for (size_t i = maps->list.count; i-- > 0;) {
        taddr_t start, end;
        with_room_to_grow(maps, i, &start, &end);
        if (end <= at || start >= at + size)
            continue;
        if (start < bottom + size)
            return 0;
        at = page_down(start - size);
    }
    return at >= bottom && top > size ? at : 0;
}

/* The lowest free place for SIZE bytes in [BOTTOM, TOP). */
static taddr_t room_above(const struct maps *maps, taddr_t bottom, taddr_t top, uint64_t size) {
    taddr_t at = page_up(bottom);
    for (size_t i = 0; i < maps->list.count; i++) {
        taddr_t start, end;
        with_room_to_grow(maps, i, &start, &end);
        if (end <= at || start >= at + size)
            continue;
        at = page_up(end);
    }
    return at + size <= top ? at : 0;
}

typedef ARRAY(struct span) span_array;

static void add_span(span_array *spans, struct span s) {
    while (spans->count && spans->at[spans->count - 1].end >= s.start) {
        const struct span *last = &spans->at[--spans->count];
        s.start = last->start < s.start ? last->start : s.start;
        s.end = last->end > s.end ? last->end : s.end;
    }
    ARRAY_PUSH(spans, s);
}

struct span *maps_taken(const struct maps *maps, taddr_t break_start, size_t *ret_count) {
    span_array spans = {0};
    struct span heap = {break_start, break_start + BREAK_ROOM};
    bool pending = break_start != 0;
    for (size_t i = 0; i < maps->list.count; i++) {
        struct span s;
        with_room_to_grow(maps, i, &s.start, &s.end);
        if (pending && maps->list.at[i].start >= heap.start) {
            add_span(&spans, heap);
            pending = false;
        }
        add_span(&spans, s);
    }
    if (pending)
        add_span(&spans, heap);
    *ret_count = spans.count;
    return spans.at;
}

static bool meets(taddr_t at, uint64_t size, struct span s) {
    return at < s.end && at + size > s.start;
}

/* The same two searches, outside of HEAP. */
static taddr_t room_down(const struct maps *maps, struct span within, uint64_t size,
                         struct span heap) {
    taddr_t at = room_below(maps, within.start, within.end, size);
    return at && meets(at, size, heap) ? room_below(maps, within.start, heap.start, size) : at;
}

static taddr_t room_up(const struct maps *maps, struct span within, uint64_t size,
                       struct span heap) {
    taddr_t at = room_above(maps, within.start, within.end, size);
    return at && meets(at, size, heap) ? room_above(maps, heap.end, within.end, size) : at;
}

taddr_t maps_find_room(const struct maps *maps, struct span near, uint64_t size, uint64_t reach,
                       taddr_t break_start) {
    size = page_up(size);
    taddr_t low = near.start, high = near.end;
    taddr_t bottom = high > reach + LOWEST ? high - reach : LOWEST;
    const taddr_t highest = host_highest();
    taddr_t top = low + reach < highest ? low + reach : highest;
    const struct span heap = {break_start, break_start ? break_start + BREAK_ROOM : 0};
    /* First below the module, far enough away to leave the near room to the program. Then above it:
     * before the program break, or far enough up for a break that starts behind the module. The
     * kernel may place the break up to a gigabyte off (arch_randomize_brk() in
     * arch/x86/kernel/process.c). Last wherever there is room. Kept code serves most processes if
     * their areas are equally far away: so not next to the break. */
    taddr_t at = 0;
    if (low > bottom + 256 * MIB + size)
        at = room_down(maps, (struct span){bottom, low - 256 * MIB}, size, heap);
    if (!at && high + 1024 * MIB + size < top && heap.start > high + size && heap.start <= top)
        at = room_above(maps, high, heap.start, size);
    if (!at && high + 1024 * MIB + size < top)
        at = room_up(maps, (struct span){high + 1024 * MIB, top}, size, heap);
    if (!at && low > bottom + size)
        at = room_down(maps, (struct span){bottom, low}, size, heap);
    if (!at)
        at = room_up(maps, (struct span){high + 256 * MIB, top}, size, heap);
    return at;
}

taddr_t maps_find_room_between(const struct maps *maps, struct span within, uint64_t size) {
    return within.end > within.start ? room_above(maps, within.start, within.end, size) : 0;
}

bool map_is_same_file(const struct map *a, const struct map *b) {
    return a->inode && a->inode == b->inode && a->device == b->device;
}

/* The number in FILE; 0: it cannot be read. */
static size_t read_number(const char *file) {
    size_t number = 0;
    FILE *f = fopen(file, "re");
    if (f && fscanf(f, "%zu", &number) != 1)
        number = 0;
    if (f)
        fclose(f);
    return number;
}

/* The kernel does not count [vsyscall]. A mapping may take two more, as it may part another. */
bool maps_are_full(pid_t tid, size_t *ret_count, size_t *ret_most) {
    enum { NEARLY = 3 };
    size_t most = read_number("/proc/sys/vm/max_map_count");
    struct maps maps = {0};
    maps_read(tid, &maps, NULL);
    size_t count = maps.list.count;
    maps_done(&maps);
    if (!most || count + NEARLY < most)
        return false;
    *ret_count = count;
    *ret_most = most;
    return true;
}
