/*
 * Carries a plan out on one module of one address space, and takes it back.
 * Text is checked against the file before it is changed: a page that does not
 * hold what the plan was made from is never written.
 */
#ifndef SPOOR_PATCH_PATCHER_H
#define SPOOR_PATCH_PATCHER_H

#include "patch/pages.h"

struct patch_request {
    struct space *space;
    pid_t caller;
    struct maps *maps;
    bool selected;    /* trace the selected functions; else only the hook */
    bool controls;    /* all control sites */
    struct span from; /* run-time addresses: calls of filtered functions from there count */
    vaddr_t hook;     /* 0: none */
    uint32_t ring_bytes;
    enum overflow overflow;
};

/* Chooses room for the trampolines and makes them: the target may run, and nothing in it changes.
 * Needs of SPACE its modules only, of CALLER that it is one of its threads. What was chosen is
 * noted in MAPS. Errors: "no-room" (no trampoline area within reach), those of plan_emit(). */
int patcher_prepare(struct patched *p, const struct patch_request *request, struct err *err);
/* What was prepared need not be compared with the text again while the program stands still for it:
 * text that has changed between is found while it is written. */
void patcher_look_ahead(struct patched *p, int memory_fd);
/* Maps what was prepared, islands too; patcher_redo() does the rest. Errors: "no-room",
 * "remote-call", "memory"; then it is forgotten. */
int patcher_map(struct patched *p, struct space *space, pid_t caller, struct err *err);
/* Does some of that rest while the program runs, and all of its threads are ours: writes the
 * trampolines, and makes the pages that will be written the process's own. */
void patcher_fill(struct patched *p, const struct space *space);
/* Maps and writes what was prepared. Errors: "no-room" (something else has come there),
 * "text-differs", "remote-call", "memory". On error the module is as it was before it was prepared.
 */
int patcher_install(struct patched *p, const struct patch_request *request, struct err *err);
/* Both. */
int patcher_apply(struct patched *p, const struct patch_request *request, struct err *err);
/* Writes the original text back, or, as far as PAGES (may be NULL) can do it, makes pages their
 * file's again; the area stays mapped. What others have written over it stays.
 * Errors: "text-changed" (there is such text; the rest is restored), "memory". */
int patcher_undo(struct patched *p, int memory_fd, struct pages *pages, struct err *err);
/* The other way, or the first time after patcher_map(). Errors: "text-differs", "memory"; the text
 * is as it was then. */
int patcher_redo(struct patched *p, const struct space *space, struct err *err);
/* Unmaps what patcher_apply() has mapped; threads must have left it. */
int patcher_unmap(struct patched *p, const struct space *space, pid_t caller, struct err *err);
/* A thread will come to the way at run-time address ADDR, if there is one in the module's text:
 * that patch stays for good. */
void patcher_leave_way(struct patched *p, taddr_t addr);
/* Of P, prepared and not yet installed: leaves out the site whose window holds run-time address
 * ADDR, and those that rest on it. */
void patcher_spare(struct patched *p, taddr_t addr);
/* Restores the text of the site whose window holds run-time address ADDR. */
int patcher_withdraw(struct patched *p, int memory_fd, taddr_t addr, struct err *err);
/* The trap at run-time address ADDR, whether it stands or not; NULL if there has been none. */
const struct trap *patcher_trap_at(const struct patched *p, taddr_t addr);
/* Whether a trap of P stands in memory; and how many do. */
bool patcher_trap_stands(const struct patched *p, int memory_fd, const struct trap *trap);
size_t patcher_standing_traps(const struct patched *p, int memory_fd);
/* Whether its patches stand in memory or, if not PATCHED, what was there before them; whatever is
 * mapped there now. */
bool patcher_stands(const struct patched *p, int memory_fd, bool patched);
/* The same in a copy of its space. */
struct patched patcher_copy(const struct patched *p);
void patcher_forget(struct patched *p);

/* Where the dynamic linker calls out after it has mapped or unmapped something; 0: unknown. */
vaddr_t patcher_loader_hook(const struct entry *loader);

/* Where the thread that stands at run-time address ADDR, on its way from a site to its trampoline,
 * comes from; 0: ADDR is not on such a way. */
taddr_t patcher_way_back(const struct patched *p, taddr_t addr);

/* The number of the first patch at link-time address AT or above. */
size_t patcher_patch_at(const struct plan_code *code, vaddr_t at);

/* Whether run-time address ADDR is in the middle of a window: who goes on there goes astray. */
bool patcher_breaks(const struct patched *p, taddr_t addr);
/* Where the instruction at run-time address ADDR, in a window, is executed instead, or the stub
 * before it; 0: nowhere. */
taddr_t patcher_copy_of(const struct patched *p, taddr_t addr);

/* The mark that OFFSET bytes into the module's area belongs to; NULL: the agent or filler. */
const struct mark *patcher_mark_at(const struct patched *p, uint64_t offset);

#endif
