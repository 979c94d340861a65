/*
 * Runs a program and writes down the arguments and results of its functions: as `spoor record -a`
 * would, but by breakpoints at entries and return addresses, and by capture_run(). So what
 * src/types and src/values make can be compared with a debugger's values, without a recorder.
 *
 *   values-stepper MOST PROGRAM [ARGUMENT…]
 *
 * PROGRAM is linked to a fixed address. Of each function MOST calls are written, one JSON object a
 * line: {"function", "args": […]} at the entry, {"function", "ret": {…}} at the return.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "elf/module.h"
#include "types/debug_types.h"
#include "values/compile.h"
#include "values/print.h"
#include "values/run.h"

struct function {
    uint64_t pc;
    struct signature signature;
    struct capture entry, result;
    unsigned calls;
};
struct pending { /* a call that has not returned */
    struct function *function;
    uint64_t address, sp; /* of the return address */
    struct pending *next;
};
struct stepper {
    struct types *types;
    struct debug_types *debug;
    ARRAY(struct function) functions;
    ARRAY(uint64_t) originals; /* address, then the byte there */
    struct pending *pending;
    unsigned most;
    pid_t pid;
    int memory;
    struct user_regs_struct regs;
    struct user_fpregs_struct floats;
};

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    struct stepper *s = ctx;
    const uint64_t general[] = {s->regs.rax, s->regs.rdx, s->regs.rcx, s->regs.rbx,
                                s->regs.rsi, s->regs.rdi, s->regs.rbp, s->regs.rsp,
                                s->regs.r8,  s->regs.r9,  s->regs.r10, s->regs.r11,
                                s->regs.r12, s->regs.r13, s->regs.r14, s->regs.r15};
    if (v->from == FROM_REGISTER)
        memcpy(ret, &general[v->reg], size);
    else if (v->from == FROM_VECTOR)
        memcpy(ret, (const uint8_t *)s->floats.xmm_space + 16 * v->reg + v->part, size);
    else
        memcpy(ret, (const uint8_t *)s->floats.st_space + 16 * v->part, size);
    return true;
}

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    struct stepper *s = ctx;
    return pread(s->memory, ret, size, (off_t)address) == (ssize_t)size;
}

static const char *function_at(void *ctx, uint64_t address) {
    struct stepper *s = ctx;
    for (size_t i = 0; i < s->functions.count; i++)
        if (s->functions.at[i].pc == address)
            return s->functions.at[i].signature.name;
    return NULL;
}

/* ---- output ---- */

static void write_item(struct stepper *s, const struct item *item, struct words *w) {
    struct printer p = {.types = s->types, .function_at = function_at, .ctx = s};
    const char *missing = print_missing(&p, item);
    words_add(w, "{\"name\":");
    words_json_text(w, item->values[0].name);
    words_add(w, ",\"type\":");
    print_type(s->types, item, w);
    words_add(w, ",\"value\":");
    print_json(&p, item, w);
    if (missing)
        words_printf(w, ",\"missing\":\"%s\"", missing);
    words_add(w, print_is_cut(&p, item) ? ",\"cut\":true}" : "}");
}

static void write_call(struct stepper *s, const struct function *f, const struct capture *c,
                       uint64_t sp) {
    struct capture_source source = {s, 8, sp, read_register, read_memory};
    struct captured *captured = mem_alloc((c->count + 1) * sizeof *captured);
    uint8_t *store;
    struct words w = {0};
    struct item item;
    bool first = true;
    capture_run(c, &source, captured, &store);
    words_printf(&w, "{\"pc\":%" PRIu64 ",\"function\":", f->pc);
    words_json_text(&w, f->signature.name);
    words_add(&w, c->kind == EVENT_ENTRY ? ",\"args\":[" : ",\"ret\":");
    for (size_t at = 0; item_next(c, captured, &at, &item); first = false) {
        words_add(&w, first ? "" : ",");
        write_item(s, &item, &w);
    }
    if (c->kind == EVENT_RETURN && first)
        words_add(&w, "null");
    words_add(&w, c->kind == EVENT_ENTRY ? "]}" : "}");
    puts(words_text(&w));
    words_done(&w);
    free(store);
    free(captured);
}

/* ---- breakpoints ---- */

static void poke(struct stepper *s, uint64_t address, uint8_t byte) {
    if (pwrite(s->memory, &byte, 1, (off_t)address) != 1)
        abort();
}

/* The byte that was at ADDRESS before a breakpoint; −1: there is none. */
static int original(struct stepper *s, uint64_t address) {
    for (size_t i = 0; i + 1 < s->originals.count; i += 2)
        if (s->originals.at[i] == address)
            return (int)s->originals.at[i + 1];
    return -1;
}

static void set_breakpoint(struct stepper *s, uint64_t address) {
    uint8_t byte;
    if (original(s, address) >= 0 || !read_memory(s, address, &byte, 1))
        return;
    ARRAY_PUSH(&s->originals, address);
    ARRAY_PUSH(&s->originals, byte);
    poke(s, address, 0xcc);
}

static void step_over(struct stepper *s, uint64_t address, uint8_t byte) {
    int status;
    s->regs.rip = address;
    poke(s, address, byte);
    ptrace(PTRACE_SETREGS, s->pid, 0, &s->regs);
    ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0);
    waitpid(s->pid, &status, 0);
    poke(s, address, 0xcc);
}

static void at_return(struct stepper *s, uint64_t address) {
    for (struct pending **at = &s->pending; *at;) {
        struct pending *p = *at;
        if (p->address == address && s->regs.rsp == p->sp + 8)
            write_call(s, p->function, &p->function->result, p->sp);
        if (p->sp < s->regs.rsp) {
            *at = p->next;
            free(p);
        } else {
            at = &p->next;
        }
    }
}

static void at_entry(struct stepper *s, uint64_t address) {
    for (size_t i = 0; i < s->functions.count; i++) {
        struct function *f = &s->functions.at[i];
        if (f->pc != address || f->calls++ >= s->most)
            continue;
        write_call(s, f, &f->entry, s->regs.rsp);
        struct pending *p = mem_alloc(sizeof *p);
        *p = (struct pending){f, 0, s->regs.rsp, s->pending};
        read_memory(s, p->sp, &p->address, sizeof p->address);
        s->pending = p;
        set_breakpoint(s, p->address);
    }
}

static int run(struct stepper *s) {
    int status;
    for (;;) {
        ptrace(PTRACE_CONT, s->pid, 0, 0);
        waitpid(s->pid, &status, 0);
        if (!WIFSTOPPED(status))
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs);
        ptrace(PTRACE_GETFPREGS, s->pid, 0, &s->floats);
        uint64_t address = s->regs.rip - 1;
        int byte = original(s, address);
        if (WSTOPSIG(status) != SIGTRAP || byte < 0) {
            fprintf(stderr, "signal %d at %#" PRIx64 "\n", WSTOPSIG(status), (uint64_t)s->regs.rip);
            kill(s->pid, SIGKILL);
            return 1;
        }
        at_return(s, address);
        at_entry(s, address);
        step_over(s, address, (uint8_t)byte);
    }
}

/* ---- preparation ---- */

static void compile(struct stepper *s, struct function *f) {
    struct values_request r = {.types = s->types,
                               .signature = &f->signature,
                               .abi = ABI_X86_64,
                               .kind = EVENT_ENTRY,
                               .strings = 64};
    struct err err;
    values_compile(&r, &f->entry, &err);
    r.kind = EVENT_RETURN;
    values_compile(&r, &f->result, &err);
}

static bool see(void *ctx, vaddr_t low_pc) {
    struct stepper *s = ctx;
    struct function f = {.pc = low_pc};
    if (low_pc && debug_types_signature(s->debug, low_pc, &f.signature)) {
        compile(s, &f);
        ARRAY_PUSH(&s->functions, f);
    }
    return true;
}

static void start(struct stepper *s, char **argv) {
    char path[64];
    int status;
    s->pid = fork();
    if (s->pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        personality(ADDR_NO_RANDOMIZE);
        dup2(2, 1);
        execv(argv[0], argv);
        _exit(127);
    }
    waitpid(s->pid, &status, 0);
    snprintf(path, sizeof path, "/proc/%d/mem", s->pid);
    s->memory = open(path, O_RDWR);
    for (size_t i = 0; i < s->functions.count; i++)
        set_breakpoint(s, s->functions.at[i].pc);
}

int main(int argc, char **argv) {
    static struct stepper s;
    struct module *module;
    struct err err;
    if (argc < 3)
        return 2;
    s.types = types_new();
    s.most = (unsigned)atoi(argv[1]);
    if (module_load(argv[2], MODULE_DEBUG_FILES, &module, &err) < 0 ||
        debug_types_open(module, s.types, &s.debug, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    debug_types_functions(s.debug, see, &s);
    start(&s, argv + 2);
    return run(&s);
}
