/* Finds stripped modules, fetches their debug files together, and names functions by address. */
#include "analyze/late_names.h"

#include <unistd.h>

#include "base/mem.h"
#include "elf/debug_symbols.h"
#include "elf/debuginfod.h"

static bool is_nameless(const struct trace_function *f) { return !f->name || !*f->name; }

static bool is_stripped(const struct trace_module *m) {
    uint32_t nameless = 0;
    for (uint32_t i = 0; i < m->function_count; i++)
        nameless += is_nameless(&m->functions[i]);
    return m->build_id_size && nameless > m->function_count / 2;
}

static void name_functions(struct trace_reader *r, size_t module, int fd) {
    const struct trace_module *m = trace_reader_module(r, module);
    struct debug_symbols *symbols = debug_symbols_new(fd);
    for (uint32_t i = 0; symbols && i < m->function_count; i++) {
        const struct trace_function *f = &m->functions[i];
        const char *name = is_nameless(f) ? debug_symbols_at(symbols, f->address) : NULL;
        if (name)
            trace_reader_name_function(r, module, i, name);
    }
    debug_symbols_free(symbols);
}

void late_names_find(struct trace_reader *r) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    ARRAY(struct debuginfod_file) files = {0};
    ARRAY(size_t) modules = {0};
    if (!urls || !*urls)
        return;
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        if (!is_stripped(m))
            continue;
        ARRAY_PUSH(&modules, i);
        ARRAY_PUSH(&files, ((struct debuginfod_file){m->build_id, m->build_id_size, m->name, -1}));
    }
    debuginfod_fetch(files.at, files.count);
    for (size_t i = 0; i < files.count; i++) {
        if (files.at[i].fd < 0)
            continue;
        name_functions(r, modules.at[i], files.at[i].fd);
        close(files.at[i].fd);
    }
    ARRAY_FREE(&files);
    ARRAY_FREE(&modules);
}
