/* The tiers of patches, and why a site or function has none. */
#pragma once

/* Order is preference, names are CONTRACT.md's. */
enum tier { TIER_NONE, TIER_PAD, TIER_JUMP, TIER_HOP, TIER_PUN, TIER_TRAP, TIER_COUNT };
const char *tier_name(enum tier tier); /* "none" "pad" "jump" "hop" "pun" "trap" */

/* Why a site or function has no patch. Tags are stable; `spoor explain` prints them. */
enum refusal {
    REFUSED_NOT,           /* not refused */
    REFUSED_SHORT,         /* "short-window": fewer than 5 bytes, and no tier for that yet */
    REFUSED_CALL,          /* "call-in-window" */
    REFUSED_TARGET,        /* "branch-into-window" */
    REFUSED_OVERLAP,       /* "window-taken": another site's window owns these bytes */
    REFUSED_UNDECODABLE,   /* "undecodable" */
    REFUSED_UNRELOCATABLE, /* "unrelocatable": an instruction that cannot run elsewhere */
    REFUSED_SYSCALL,       /* "syscall-in-window" */
    REFUSED_NO_CFI,        /* "no-unwind-info" */
    REFUSED_FALL_THROUGH,  /* "falls-through": into the next, by an instruction that is no exit */
    REFUSED_OWN_ABI,       /* "own-convention": _start, lazy binding, … */
    REFUSED_SIGNAL_FRAME,  /* "signal-frame" */
    REFUSED_OPEN_FLOW,     /* "open-control-flow": unresolved indirect jump forbids this window */
    REFUSED_TEXT_RELOCATIONS, /* "text-relocations" */
    REFUSED_NO_ADDRESS, /* "no-address": found at load time: its pun leads where nothing can be */
    REFUSED_LOOSE, /* "movable-code": no unwind information, and nothing ties it to its place */
    REFUSED_DEPTH, /* "unknown-depth": no unwind information, and its code does not tell */
    REFUSED_COUNT
};
const char *refusal_tag(enum refusal refusal);
const char *refusal_meaning(enum refusal refusal); /* one sentence, for the man page and explain */
