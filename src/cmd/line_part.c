/* Takes the lines of a part from all lines of the trace. */
#include "cmd/line_part.h"

#include "base/mem.h"

enum {
    MOST_LINES = 1 << 20,
    TRIED_LINES = 4096, /* at the end, for a good place to end */
};

/* When LINE is due: with a threshold, an entry is one only when the call has lasted so long. */
static uint64_t due_ns(const struct line *line, uint64_t threshold_ns) {
    return line->ns + (line->kind == LINE_ENTRY && !line->before ? threshold_ns : 0);
}

static bool belongs(const struct line *line, const struct follow_part *part,
                    uint64_t threshold_ns) {
    uint64_t due = due_ns(line, threshold_ns);
    bool open = line->kind == LINE_EXIT && line->how == CALL_OPEN;
    return (part->first || due > part->begin_ns) && due <= part->end_ns && (part->last || !open);
}

/* Ends PART in the widest space between its last lines: the next look at the trace knows the
 * processor's clock better, so it may find other times for the same events, by a little. */
static void end_in_a_space(struct line_part *p, struct follow_part *part) {
    size_t count = p->list.count, from = count > TRIED_LINES ? count - TRIED_LINES : 0, cut = count;
    uint64_t widest = 0;
    for (size_t i = from; i < count; i++) {
        uint64_t next = i + 1 < count ? p->list.at[i + 1].ns : part->end_ns, ns = p->list.at[i].ns;
        if (next > ns && next - ns >= widest) {
            widest = next - ns;
            cut = i + 1;
        }
    }
    if (!count)
        return;
    part->end_ns = p->list.at[cut - 1].ns + widest / 2;
    p->list.count = cut;
}

/* Removes the lines that are due behind PART, which has become shorter. */
static void remove_later(struct line_part *p, const struct follow_part *part,
                         uint64_t threshold_ns) {
    size_t kept = 0;
    for (size_t i = 0; i < p->list.count; i++)
        if (due_ns(&p->list.at[i], threshold_ns) <= part->end_ns)
            p->list.at[kept++] = p->list.at[i];
    p->list.count = kept;
}

static bool is_exit_of(const struct line *exit, const struct line *entry) {
    return exit->kind == LINE_EXIT && entry->kind == LINE_ENTRY && exit->began == entry->stream &&
           exit->depth == entry->depth && exit->function == entry->function &&
           exit->stack == entry->stack;
}

/* Makes leaves. */
static void fold_lines(struct line_part *p, const struct source *source) {
    enum { NONE = UINT32_MAX };
    size_t streams = trace_reader_stream_count(source->reader), kept = 0;
    uint32_t *newest = mem_alloc((streams ? streams : 1) * sizeof *newest); /* line of a stream */
    memset(newest, 0xff, streams * sizeof *newest);
    for (size_t i = 0; i < p->list.count; i++) {
        struct line line = p->list.at[i];
        uint32_t *last = line.kind == LINE_CHANGE ? NULL : &newest[line.stream];
        struct line *entry = last && *last != NONE ? &p->list.at[*last] : NULL;
        if (entry && is_exit_of(&line, entry)) {
            line.kind = LINE_LEAF;
            line.ns = entry->ns;
            *entry = line;
            continue;
        }
        if (last)
            *last = (uint32_t)kept;
        p->list.at[kept++] = line;
    }
    p->list.count = kept;
    free(newest);
}

void line_part_read(struct line_part *p, const struct source *source, struct follow_part *part,
                    bool fold) {
    const struct view_filter *filter = source->filter;
    uint64_t threshold_ns = filter->spec.threshold_ns;
    if (filter->recorded_ns > threshold_ns)
        threshold_ns = filter->recorded_ns;
    *p = (struct line_part){.lines = lines_new(source, false)};
    lines_want_marks(p->lines);
    for (const struct line *line; (line = lines_next(p->lines)) && line->ns <= part->end_ns;) {
        if (!belongs(line, part, threshold_ns))
            continue;
        if (p->list.count == MOST_LINES && !part->last) {
            part->end_ns = line->ns;
            break;
        }
        ARRAY_PUSH(&p->list, *line);
    }
    if (!part->last)
        end_in_a_space(p, part);
    remove_later(p, part, threshold_ns);
    if (fold)
        fold_lines(p, source);
}

void line_part_done(struct line_part *p) {
    lines_free(p->lines);
    ARRAY_FREE(&p->list);
}
