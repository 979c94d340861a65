/* The tiers of patches, and why a site or function has none. */
#pragma once

/* In order of preference. The names are fixed: commands print and read them. */
enum tier { TIER_NONE, TIER_PAD, TIER_JUMP, TIER_HOP, TIER_PUN, TIER_TRAP, TIER_COUNT };
const char *tier_name(enum tier tier); /* "none" "pad" "jump" "hop" "pun" "trap" */

/* Why a site or function has no patch. Tags are stable; `spoor explain` prints them. */
enum refusal {
    REFUSED_NOT,     /* not refused */
    REFUSED_SHORT,   /* "short-window": too few bytes for a jump, and no tier that needs fewer */
    REFUSED_CALL,    /* "call-in-window" */
    REFUSED_TARGET,  /* "branch-into-window" */
    REFUSED_OVERLAP, /* "window-taken": the bytes belong to another site's window */
    REFUSED_UNDECODABLE,   /* "undecodable" */
    REFUSED_UNRELOCATABLE, /* "unrelocatable": an instruction that cannot run elsewhere */
    REFUSED_SYSCALL,       /* "syscall-in-window" */
    REFUSED_NO_CFI,        /* "no-unwind-info" */
    REFUSED_FALL_THROUGH,  /* "falls-through": runs into the next function without an exit */
    REFUSED_OWN_ABI,       /* "own-convention": _start, lazy binding, … */
    REFUSED_SIGNAL_FRAME,  /* "signal-frame" */
    REFUSED_OPEN_FLOW, /* "open-control-flow": a jump with unknown targets forbids this window */
    REFUSED_TEXT_RELOCATIONS, /* "text-relocations" */
    REFUSED_NO_ADDRESS,       /* "no-address": at emission: no page can be mapped for its pun */
    REFUSED_MOVABLE, /* "movable-code": no unwind information, and no reference fixes its place */
    REFUSED_DEPTH,   /* "unknown-depth": no unwind information, nor does the code show it */
    REFUSED_UNSEEN,  /* "ends-unseen": of an exit: control goes on where no code is known */
    REFUSED_LANE,    /* "writes-gs": it writes the register by which stubs find lanes */
    REFUSED_CHANGED, /* "text-changed": at run time: its code in memory is not its file's */
    REFUSED_COUNT
};
const char *refusal_tag(enum refusal refusal);
const char *refusal_meaning(enum refusal refusal); /* sentences for users */
