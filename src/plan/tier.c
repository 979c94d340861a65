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
                      "A call stands within the bytes that the jump would take; return addresses "
                      "must not point into moved code."},
    [REFUSED_TARGET] = {"branch-into-window",
                        "A branch leads into the middle of the bytes that the jump would take."},
    [REFUSED_OVERLAP] = {"window-taken", "Another site has taken these bytes."},
    [REFUSED_UNDECODABLE] = {"undecodable", "Its code holds bytes that are no instruction."},
    [REFUSED_UNRELOCATABLE] = {"unrelocatable",
                               "It begins with an instruction that cannot run at another address."},
    [REFUSED_SYSCALL] = {"syscall-in-window",
                         "A system call stands within the bytes that the jump would take; threads "
                         "block, restart and are born there."},
    [REFUSED_NO_CFI] = {"no-unwind-info", "No unwind information of its own describes it."},
    [REFUSED_FALL_THROUGH] =
        {"falls-through",
         "It runs into the next function by an instruction that is no end of a call."},
    [REFUSED_OWN_ABI] = {"own-convention", "It is not called as ordinary functions are."},
    [REFUSED_SIGNAL_FRAME] = {"signal-frame", "The kernel enters it to end a signal handler."},
    [REFUSED_OPEN_FLOW] = {"open-control-flow",
                           "It holds a jump whose targets are not known, which might lead into the "
                           "bytes that would be moved."},
    [REFUSED_NO_ADDRESS] = {"no-address",
                            "Nothing can be mapped where the bytes that follow it would make its "
                            "patch lead, all room within reach of it is taken, or the call it "
                            "begins with must stay in its place."},
    [REFUSED_LOOSE] = {"movable-code",
                       "No unwind information describes it, and nothing ties it to its place: the "
                       "program might run a copy of it."},
    [REFUSED_DEPTH] = {"unknown-depth",
                       "No unwind information describes it, and its code does not tell how deep "
                       "the stack is at each place where it may end."},
    [REFUSED_TEXT_RELOCATIONS] = {"text-relocations", "Its code is changed while it is loaded."},
};

const char *refusal_tag(enum refusal refusal) { return refusals[refusal].tag; }
const char *refusal_meaning(enum refusal refusal) { return refusals[refusal].meaning; }
