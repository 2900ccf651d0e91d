// What the files of elf/ share.
#ifndef SONDE_ELF_INTERNAL_H
#define SONDE_ELF_INTERNAL_H
#include "elf/elf.h"

void elfdyn_sections(struct ElfFile *f); // dynamic.c: .dynsym and .dynstr as PT_DYNAMIC tells of them
#endif
