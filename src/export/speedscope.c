/*
 * The format of speedscope (its file-format-schema.json): an evented profile for each track
 * (tracks.h), whose frames are shared. Frames are numbered in the order in which they are met, and
 * written last.
 */
#include <string.h>

#include "base/mem.h"
#include "cmd/json.h"
#include "export/tracks.h"

struct speedscope {
    const struct view *view;
    struct out *out;
    uint32_t *numbers;    /* 1 + its number in the file, by frame; 0: it has none yet */
    ARRAY(uint32_t) used; /* frames, by number */
    ARRAY(uint32_t) path; /* numbers of the open calls */
    bool any;             /* a profile was written */
    bool begun;           /* an event of the present profile was */
};

static void write_string(struct out *out, const char *text) {
    AUTO_FREE char *quoted = json_string(text);
    out_text(out, quoted, strlen(quoted));
}

static uint32_t number_of(struct speedscope *s, uint32_t frame) {
    if (!s->numbers[frame]) {
        ARRAY_PUSH(&s->used, frame);
        s->numbers[frame] = (uint32_t)s->used.count;
    }
    return s->numbers[frame] - 1;
}

static void on_event(void *ctx, uint64_t ns, uint32_t frame) {
    struct speedscope *s = ctx;
    bool ends = frame == TRACK_END;
    if (!ends)
        ARRAY_PUSH(&s->path, number_of(s, frame));
    if (s->begun)
        out_words(s->out, ",\n");
    if (ends)
        out_words(s->out, "{\"type\":\"C\",\"at\":");
    else
        out_words(s->out, "{\"type\":\"O\",\"at\":");
    out_number(s->out, ns);
    out_words(s->out, ",\"frame\":");
    out_number(s->out, s->path.at[s->path.count - 1]);
    out_char(s->out, '}');
    s->path.count -= ends;
    s->begun = true;
}

/* "prog 123: worker 125", or "prog 123: worker 125, stack 2"; to be freed. */
static char *title(const struct speedscope *s, const struct track *track) {
    const struct trace_thread *t = trace_reader_thread(s->view->source.reader, track->stream);
    AUTO_FREE char *stack = track_stack(track);
    return mem_printf("%s %u: %s %u%s", export_command(s->view, track->stream), t->pid, t->name,
                      t->tid, stack);
}

static void on_track(void *ctx, const struct track *track) {
    struct speedscope *s = ctx;
    AUTO_FREE char *name = title(s, track);
    s->begun = false;
    if (s->any)
        out_words(s->out, ",\n");
    s->any = true;
    out_words(s->out, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
    write_string(s->out, name);
    out_words(s->out, ",\"startValue\":");
    out_number(s->out, track->first_ns);
    out_words(s->out, ",\"endValue\":");
    out_number(s->out, track->last_ns);
    out_words(s->out, ",\"events\":[\n");
    track_each(track, on_event, s);
    out_words(s->out, "\n]}");
}

static void write_frame(const struct speedscope *s, uint32_t frame) {
    struct names *names = s->view->source.names;
    uint32_t function = track_function(s->view, frame);
    AUTO_FREE char *name = track_frame_name(s->view, frame);
    out_words(s->out, "{\"name\":");
    write_string(s->out, name);
    if (function != UINT32_MAX) {
        out_words(s->out, ",\"file\":");
        write_string(s->out, names_module_name(names, names_module(names, function)));
    }
    out_char(s->out, '}');
}

void export_speedscope(const struct view *view, struct out *out) {
    struct speedscope s = {.view = view, .out = out};
    s.numbers = mem_alloc(track_frames(view) * sizeof *s.numbers);
    out_words(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                   "\"exporter\":\"spoor\",\"name\":");
    write_string(out,
                 trace_reader_stream_count(view->source.reader) ? export_command(view, 0) : "");
    out_words(out, ",\"activeProfileIndex\":0,\"profiles\":[\n");
    tracks_read(view, out, on_track, &s);
    out_words(out, "\n],\"shared\":{\"frames\":[\n");
    for (size_t i = 0; i < s.used.count; i++) {
        if (i)
            out_words(out, ",\n");
        write_frame(&s, s.used.at[i]);
    }
    out_words(out, "\n]}}\n");
    free(s.numbers);
    ARRAY_FREE(&s.used);
    ARRAY_FREE(&s.path);
}
