/* With --libcalls: finds the traced executable among a process's maps. */
#include "patch/program.h"

#include "select/mapped.h"

void program_find(const struct space_context *ctx, struct space *space, pid_t caller,
                  const struct maps *maps, const struct map *executable) {
    struct program *program = &space->program;
    for (size_t i = 0; ctx->options->libcalls && i < maps->list.count && !program->executable;
         i++) {
        const struct map *m = &maps->list.at[i];
        struct traced_module *traced;
        taddr_t bias;
        if (!m->executable || !map_is_same_file(m, executable) ||
            module_table_find(ctx->module_table, caller, m, &traced, NULL) < 0 ||
            !mapped_bias(m, traced->module, &bias))
            continue;
        program->executable = traced;
        program->text =
            (struct span){traced->module->text_low + bias, traced->module->text_high + bias};
        module_table_libcalls(ctx->module_table, traced);
    }
}
