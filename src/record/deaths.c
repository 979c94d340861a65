/* Looks up frames in files that are opened once, and chooses the frame to name. */
#include "record/deaths.h"

#include <string.h>
#include <sys/stat.h>

#include "elf/lineinfo.h"

struct file {
    const char *path;
    struct lineinfo *info; /* NULL: the file has gone, or is another one */
};
typedef ARRAY(struct file) file_array;

/* Names are for people: so the file must still be the one that was mapped. */
static struct lineinfo *open_file(const struct death_frame *f) {
    struct stat st;
    struct lineinfo *info = NULL;
    if (f->path[0] != '/' || stat(f->path, &st) < 0 || st.st_ino != f->inode ||
        st.st_dev != f->device)
        return NULL;
    return lineinfo_open(f->path, &info, NULL) < 0 ? NULL : info;
}

static struct lineinfo *file_of(file_array *files, const struct death_frame *f) {
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->at[i].path, f->path) == 0)
            return files->at[i].info;
    ARRAY_PUSH(files, ((struct file){f->path, open_file(f)}));
    return files->at[files->count - 1].info;
}

static char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return mem_strdup(slash ? slash + 1 : path);
}

/* NAME without the version of its symbol (@@GLIBC_2.34). */
static char *function_name(const char *name) {
    return name ? mem_printf("%.*s", (int)strcspn(name, "@"), name) : mem_strdup("");
}

typedef ARRAY(struct trace_death_frame) record_frames;

/* Adds FRAME, and before it the functions that are inlined there. INTERRUPTED: by a handler. */
static void add_frame(file_array *files, const struct death_frame *frame, bool interrupted,
                      record_frames *ret) {
    struct lineinfo *info = file_of(files, frame);
    struct line_place place = {0};
    vaddr_t addr;
    if (info && lineinfo_at_offset(info, frame->offset, &addr))
        lineinfo_find(info, addr, !frame->exact, &place);
    for (size_t i = 0; i < place.count || i == 0; i++) {
        const struct line_frame *f = i < place.count ? &place.frames[i] : &(struct line_frame){0};
        ARRAY_PUSH(ret, ((struct trace_death_frame){
                            .pc = frame->pc,
                            .interrupted = interrupted && i == 0,
                            .inlined = f->inlined,
                            .module = base_name(frame->path),
                            .function = function_name(f->function),
                            .file = mem_strdup(f->file ? f->file : ""),
                            .line = f->line,
                        }));
    }
    line_place_done(&place);
}

/*
 * The frame that tells most. After a call of an address without code: the caller. A handler may
 * have sent the signal once more: then that which the last handler has interrupted. If a library
 * has sent it to its own process (abort), the first one beyond that library. Else where the thread
 * was.
 */
static uint32_t choose(const struct death *d, const record_frames *frames) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < frames->count; i++)
        if (frames->at[i].interrupted)
            last = i;
    if (!last && frames->count > 1 && !frames->at[0].module[0])
        return 1;
    if (last || d->fault || d->sender != d->pid || strcmp(frames->at[0].module, d->process) == 0)
        return last;
    while (last < frames->count && strcmp(frames->at[last].module, frames->at[0].module) == 0)
        last++;
    return last < frames->count ? last : 0;
}

static struct trace_death record_of(const struct death *d, file_array *files) {
    record_frames frames = {0};
    for (size_t i = 0; i < d->frames.count && frames.count < DEATH_FRAMES; i++)
        add_frame(files, &d->frames.at[i], i && d->frames.at[i].exact, &frames);
    struct trace_death record = {.pid = (uint32_t)d->pid,
                                 .tid = (uint32_t)d->tid,
                                 .process = d->process,
                                 .thread = d->thread,
                                 .signal = (uint32_t)d->signal,
                                 .code = d->code,
                                 .sender = (uint32_t)d->sender,
                                 .address = d->address,
                                 .fault = d->fault,
                                 .core = d->core,
                                 .ticks = d->ticks,
                                 .calls = (uint32_t)d->calls,
                                 .count = (uint32_t)frames.count,
                                 .frames = frames.at};
    if (record.count > DEATH_FRAMES) /* inlined functions of the last one */
        record.count = DEATH_FRAMES;
    for (uint32_t i = 0; i + 1 < record.count; i++)
        if (frames.at[i + 1].interrupted) { /* it returns from the handler; gdb's name */
            free((char *)frames.at[i].function);
            frames.at[i].function = mem_strdup("<signal handler called>");
        }
    record.place = record.count ? choose(d, &frames) : 0;
    for (size_t i = record.count; i < frames.count; i++)
        death_frame_done(&frames.at[i]);
    return record;
}

void deaths_write(const death_array *deaths, struct trace_writer *writer, death_records *ret) {
    file_array files = {0};
    for (size_t i = 0; i < deaths->count; i++) {
        const struct death *d = &deaths->at[i];
        struct trace_death record = record_of(d, &files);
        trace_writer_death(writer, &record);
        record.process = mem_strdup(record.process);
        record.thread = mem_strdup(record.thread);
        ARRAY_PUSH(ret, record);
    }
    for (size_t i = 0; i < files.count; i++)
        lineinfo_close(files.at[i].info);
    ARRAY_FREE(&files);
}

void death_frame_done(const struct trace_death_frame *f) {
    free((char *)f->module);
    free((char *)f->function);
    free((char *)f->file);
}

void record_result_done(struct record_result *r) {
    for (size_t i = 0; i < r->deaths.count; i++) {
        const struct trace_death *d = &r->deaths.at[i];
        for (uint32_t k = 0; k < d->count; k++)
            death_frame_done(&d->frames[k]);
        free((void *)d->frames);
        free((char *)d->process);
        free((char *)d->thread);
    }
    ARRAY_FREE(&r->deaths);
    free(r->output);
    r->output = NULL;
}
