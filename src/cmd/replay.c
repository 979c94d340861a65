/* spoor replay: shows every call in the order of time. */
#include "cmd/replay.h"

#include "cmd/command.h"
#include "cmd/say.h"

static int replay(const struct options *options, struct view *view) {
    struct replay_look look = {term_open(&options->view), options->replay.time,
                               &options->replay.columns, options->replay.stacks};
    struct out out;
    if (out_open(&out, NULL, NULL) < 0)
        return STATUS_FAILED;
    if (look.term.is_terminal)
        view_end_progress(view);
    pager_start(&look.term, &options->view);
    if (options->view.json && look.stacks)
        replay_json_stacks(view, &out);
    else if (options->view.json)
        replay_json(view, &out);
    else
        replay_text(view, &look, &out);
    int status = out_close(&out);
    pager_finish();
    return view_has_failed(view) ? STATUS_FAILED : status;
}

struct followed {
    struct replay_look look;
    bool json;
    struct out out;
};

static int show_part(void *ctx, struct view *view, struct follow_part *part) {
    struct followed *f = ctx;
    if (f->json)
        replay_json_part(view, &f->look, &f->out, part);
    else
        replay_text_part(view, &f->look, &f->out, part);
    out_flush(&f->out);
    return f->out.error ? STATUS_FAILED : STATUS_OK;
}

static int replay_growing(const struct options *options, int argc, char **argv) {
    struct followed f = {.look = {term_open(&options->view), options->replay.time,
                                  &options->replay.columns, options->replay.stacks},
                         .json = options->view.json};
    if (out_open(&f.out, NULL, NULL) < 0)
        return STATUS_FAILED;
    int status = follow(options, argc, argv, show_part, &f), written = out_close(&f.out);
    return status != STATUS_OK ? status : written;
}

int cmd_replay(struct options *options, int argc, char **argv) {
    if (options->view.follow)
        return replay_growing(options, argc, argv);
    struct view view;
    struct err err;
    if (view_open(&view, options, argc, argv, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    int status = replay(options, &view);
    view_close(&view);
    return status;
}
