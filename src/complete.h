// What may stand next on a command line, for the shells (completions/).
#ifndef SONDE_COMPLETE_H
#define SONDE_COMPLETE_H
#include "base/base.h"

// program: the word that sonde was called by; words: the n others, the last of which is being written (n 0: none yet). On out a line for each word that may stand
// there, "WORD<tab>HELP" or "WORD", all beginning with what is written; ":files" or ":dirs": names of files. Returns the exit status.
int complete_print(FILE *out, const char *program, int n, char **words);
#endif
