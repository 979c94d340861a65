/* Collects names of callers in one text. */
#include "cmd/callers.h"

#include <string.h>

#include "base/mem.h"
#include "cmd/json.h"
#include "trace/format.h"

typedef ARRAY(char) text_array;

static void add(text_array *to, const char *text) {
    for (; *text; text++)
        ARRAY_PUSH(to, *text);
}

static char *finish(text_array *text) {
    ARRAY_PUSH(text, '\0');
    return text->at;
}

/* Why a chain ends; "": its last function has no caller. */
static const char *end_note(uint32_t end) {
    static const char *const notes[] = {[CHAIN_NONE] = "not recorded",
                                        [CHAIN_WHOLE] = "",
                                        [CHAIN_CUT] = "more of the stack was not copied",
                                        [CHAIN_LIMITED] = "the limit of callers is reached",
                                        [CHAIN_LOST] = "its caller is not known",
                                        [CHAIN_MISSED] = "the ring had no room"};
    return end < sizeof notes / sizeof *notes ? notes[end] : notes[CHAIN_LOST];
}

char *callers_text(struct places *p, uint32_t chain, struct labels *labels) {
    text_array text = {0};
    uint32_t function;
    while (places_next(p, &chain, &function)) {
        if (text.count)
            add(&text, " < ");
        AUTO_FREE char *name = labels_place(labels, p, function);
        add(&text, name);
        if (places_is_shared(p, function)) {
            add(&text, " (");
            add(&text, places_module(p, function));
            add(&text, ")");
        }
    }
    const char *note = end_note(chain);
    if (*note && text.count)
        add(&text, " < ");
    if (*note) {
        add(&text, "(");
        add(&text, note);
        add(&text, ")");
    }
    return finish(&text);
}

char *callers_json(struct places *p, uint32_t chain, bool compact) {
    const char *comma = compact ? "," : ", ", *colon = compact ? ":" : ": ";
    AUTO_FREE char *stack = mem_printf("%s\"stack\"%s", comma, colon);
    text_array text = {0};
    uint32_t function;
    add(&text, stack);
    add(&text, chain == CHAIN_NONE ? "null" : "[");
    for (bool first = true; places_next(p, &chain, &function); first = false) {
        AUTO_FREE char *name = json_string(places_function(p, function));
        AUTO_FREE char *module = json_string(places_module(p, function));
        AUTO_FREE char *frame = mem_printf("%s{\"function\"%s%s%s\"module\"%s%s}",
                                           first ? "" : comma, colon, name, comma, colon, module);
        add(&text, frame);
    }
    if (chain != CHAIN_NONE) {
        AUTO_FREE char *end =
            mem_printf("]%s\"stack_end\"%s\"%s\"", comma, colon, places_end(chain));
        add(&text, end);
    }
    return finish(&text);
}
