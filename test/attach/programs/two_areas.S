/*
 * Linked into busy.c, which is then static and at a fixed address. Leaves room for trampolines in
 * two places only, one on each side of MID. Neither has room for all functions.
 */
    .section far, "aw", @nobits
    .zero 0x7fff0000
    .section mid, "aw", @nobits
    .zero 4096
    .section more, "aw", @nobits
    .zero 0x7f000000
    .section .note.GNU-stack
