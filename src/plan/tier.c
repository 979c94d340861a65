/*
 * Names of tiers; tags and meanings of refusals. Depends on no other part of spoor, because the
 * generator of manual pages links it, too.
 */
#include "plan/tier.h"

static const char *const tiers[TIER_COUNT] = {"none", "pad", "jump", "hop", "pun", "trap"};

const char *tier_name(enum tier tier) { return tiers[tier]; }

static const struct {
    const char *tag, *meaning;
} refusals[REFUSED_COUNT] = {
    [REFUSED_NOT] = {"", "It is traced."},
    [REFUSED_SHORT] = {"short-window", "Too few bytes can be moved to make room for a jump."},
    [REFUSED_CALL] = {"call-in-window",
                      "A call is in the bytes that the jump would take. Return addresses must not "
                      "point into moved code."},
    [REFUSED_TARGET] = {"branch-into-window",
                        "A branch leads into the middle of the bytes that the jump would take."},
    [REFUSED_OVERLAP] = {"window-taken", "Another site has taken these bytes."},
    [REFUSED_UNDECODABLE] = {"undecodable", "Some bytes of its code are no instruction."},
    [REFUSED_UNRELOCATABLE] = {"unrelocatable",
                               "It begins with an instruction that cannot run at another address."},
    [REFUSED_SYSCALL] = {"syscall-in-window",
                         "A system call is in the bytes that the jump would take. Threads block, "
                         "restart and begin there."},
    [REFUSED_NO_CFI] = {"no-unwind-info", "It has no unwind information of its own."},
    [REFUSED_FALL_THROUGH] = {"falls-through",
                              "It runs into the next function, and its last instruction cannot be "
                              "an exit."},
    [REFUSED_OWN_ABI] = {"own-convention", "It has a calling convention of its own."},
    [REFUSED_SIGNAL_FRAME] = {"signal-frame", "The kernel enters it to end a signal handler."},
    [REFUSED_OPEN_FLOW] = {"open-control-flow",
                           "It has a jump with unknown targets, which might lead into the bytes "
                           "that would be moved."},
    [REFUSED_NO_ADDRESS] = {"no-address",
                            "Its patch can reach no free address, all room within reach is taken, "
                            "or a call at its start must stay in place."},
    [REFUSED_MOVABLE] = {"movable-code",
                         "It has no unwind information, and no reference fixes its place. The "
                         "program may run a copy of it."},
    [REFUSED_DEPTH] = {"unknown-depth",
                       "It has no unwind information, and its code does not show how deep the "
                       "stack is at each exit."},
    [REFUSED_CHANGED] = {"text-changed",
                         "The program or another tool has changed its code in memory, or may do so "
                         "at any time. It is traced only while its code is that of its file."},
    [REFUSED_TEXT_RELOCATIONS] = {"text-relocations", "Its code is changed while it is loaded."},
    [REFUSED_UNSEEN] = {"ends-unseen",
                        "From here, control goes on in code that is not known to be the "
                        "function's. Calls that end there are ended by later events."},
    [REFUSED_LANE] = {"writes-gs",
                      "It may write the gs base, which spoor needs for itself. A program is "
                      "traced until it calls this function."},
};

const char *refusal_tag(enum refusal refusal) { return refusals[refusal].tag; }
const char *refusal_meaning(enum refusal refusal) { return refusals[refusal].meaning; }
