/* Linked to busy.c, which is static then and at an address of its own: leaves room for trampolines in two
   places only, one on each side of MID, neither of which has enough for all functions. */
    .section far, "aw", @nobits
    .zero 0x7fff0000
    .section mid, "aw", @nobits
    .zero 4096
    .section more, "aw", @nobits
    .zero 0x7f000000
    .section .note.GNU-stack
