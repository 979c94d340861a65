/* Completion of spoor's command line, as scripts for shells on standard output. */
#pragma once

/* To be sourced, or loaded on demand as a file "spoor". */
void completion_for_bash(void);
/* To be loaded by compinit, as a file "_spoor" in $fpath. */
void completion_for_zsh(void);
