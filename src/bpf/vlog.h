// vlog: the verifier's log of a rejected program, read for people. Inside bpf/ only.
#ifndef SONDE_VLOG_H
#define SONDE_VLOG_H
#include "bpf/bpf.h"

// sp->log holds the log of loading pp, which failed with r (-errno).
struct err *vlog_error(struct Program *p, struct ProbeProg *pp, const struct SysProg *sp, int r);
const char *prog_label(const struct ProbeProg *pp); // what users call it: its first attach point
u32 vlog_processed(const char *log); // "processed N insns", 0 when absent
#endif
