// Statistics of sonde diff. In: counts. Out: verdicts.
#ifndef SONDE_TOOL_COMPARE_H
#define SONDE_TOOL_COMPARE_H
#include "base/base.h"

#define COMPARE_ALPHA 0.05
#define COMPARE_LEAST 10 // rows that both profiles together have met less often are not judged
enum Verdict { CANNOT_TELL, MORE, LESS };
struct Compared {
	u64 before, after;   // in: samples
	double spread;	     // in: how much more than independent samples it varies from run to run (variance); 1: as these
	double diff, lo, hi; // out: of the shares, and where it lies
	enum Verdict verdict;
};
void compare_rows(struct Compared *rows, size_t n, u64 before, u64 after, double alpha); // before, after: all samples of each profile
double compare_spread(const u64 *met, const u64 *all, size_t runs); // of runs of one program: of all samples so many were of this row
#endif
