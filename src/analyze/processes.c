/* See processes.h. */
#include "analyze/processes.h"

uint32_t process_of(const struct trace_reader *r, uint32_t stream) {
    const struct trace_thread *thread = trace_reader_thread(r, stream);
    uint32_t found = PROCESS_NONE;
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        if (p->pid == thread->pid && (found == PROCESS_NONE || p->start <= thread->start))
            found = (uint32_t)i;
    }
    return found;
}

const char *process_name(const struct trace_reader *r, uint32_t process) {
    return process == PROCESS_NONE ? "unknown" : trace_reader_process(r, process)->command;
}
