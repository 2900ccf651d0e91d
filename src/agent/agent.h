// sonde agent: profiles of the whole machine, for as long as it runs, sent to servers and read by Prometheus.
#ifndef SONDE_AGENT_H
#define SONDE_AGENT_H
#include "base/base.h"

int agent_main(int argc, char **argv);
void agent_usage(FILE *out);
void agent_words(FILE *out);
#endif
