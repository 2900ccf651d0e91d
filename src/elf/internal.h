// What the files of elf/ share.
#ifndef SONDE_ELF_INTERNAL_H
#define SONDE_ELF_INTERNAL_H
#include "elf/elf.h"

void elfdyn_sections(struct ElfFile *f); // dynamic.c: sections as PT_DYNAMIC and the segments tell of them
#endif
