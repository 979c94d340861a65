/*
 * Carries a plan out on one module of one address space, and takes it back.
 * Text is checked against the file before it is changed: a page that does not
 * hold what the plan was made from is never written.
 */
#ifndef SPOOR_SESSION_PATCHER_H
#define SPOOR_SESSION_PATCHER_H

#include "session/space.h"

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

/* Errors: "no-room" (no trampoline area within reach), "text-differs", "remote-call", "memory",
 * those of plan_emit(). On error the module is as it was. */
int patcher_apply(struct patched *p, const struct patch_request *request, struct err *err);
/* Writes the original text back; the area stays mapped. */
int patcher_undo(struct patched *p, int memory_fd, struct err *err);
/* Unmaps what patcher_apply() has mapped; threads must have left it. */
int patcher_unmap(struct patched *p, pid_t caller, const struct remote_site *remote,
                  struct err *err);
/* Restores the text of the site whose window holds run-time address ADDR. */
int patcher_withdraw(struct patched *p, int memory_fd, taddr_t addr, struct err *err);
/* The trap at run-time address ADDR, whether it stands or not; NULL if there has been none. */
const struct trap *patcher_trap_at(const struct patched *p, taddr_t addr);
/* Whether a trap of P stands in memory; and how many do. */
bool patcher_trap_stands(const struct patched *p, int memory_fd, const struct trap *trap);
size_t patcher_standing_traps(const struct patched *p, int memory_fd);
/* Whether its patches stand in memory, whatever is mapped there now. */
bool patcher_stands(const struct patched *p, int memory_fd);
void patcher_forget(struct patched *p);

/* Where the dynamic linker calls out after it has mapped or unmapped something; 0: unknown. */
vaddr_t patcher_loader_hook(const struct entry *loader);

/* A few bytes of executable memory that no program runs, lent for the first remote call. */
struct patch_slack {
    taddr_t at;
    uint8_t before[16];
};
int patcher_borrow_slack(int memory_fd, const struct maps *maps, struct patch_slack *ret,
                         struct err *err);
int patcher_return_slack(int memory_fd, const struct patch_slack *slack, struct err *err);
/* Unmaps the agent's page, with borrowed slack. */
int patcher_unmap_agent(struct space *space, pid_t caller, struct err *err);

/* Where the thread that stands at run-time address ADDR, on its way from a site to its trampoline,
 * comes from; 0: ADDR is not on such a way. */
taddr_t patcher_way_back(const struct patched *p, taddr_t addr);

/* The mark that OFFSET bytes into the module's area belongs to; NULL: the agent or filler. */
const struct mark *patcher_mark_at(const struct patched *p, uint64_t offset);

#endif
