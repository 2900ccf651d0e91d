// What tests and the fuzz target have of .NET: a PE image with metadata of three types and four methods, and code compiled ahead of two of them and an instance of a third; and what the
// runtime has of code that it compiles, in the memory of this process.
#ifndef SONDE_CLR_FIX_H
#define SONDE_CLR_FIX_H
#include <string.h>
#include "base/base.h"

#define RVA 0x2000u	 // of the one section
#define OFF 0x200u	 // ... in the file
#define META 0x400u	 // in the section
#define FUNCTIONS 0x100u // RUNTIME_FUNCTIONs
#define METHODS 0x180u	 // array by method
#define INSTANCES 0x1c0u // hash table
#define EXPORTS 0x320u
#define SIZE 0x1000u

static u8 file[SIZE];
static u8 *section(u32 at)
{
	return file + OFF + at;
}

static void p2(u8 *at, u32 v)
{
	at[0] = (u8)v;
	at[1] = (u8)(v >> 8);
}

static void p4(u8 *at, u32 v)
{
	memcpy(at, &v, 4);
}

static void pair(u8 *at, u32 a, u32 b)
{
	p4(at, a);
	p4(at + 4, b);
}

static void make_metadata(u8 *m)
{
	static const char strings[] = "\0Outer`1\0My.Space\0Inner\0<Module>\0First\0Second\0Third\0.ctor"; // 1, 9, 18, 24, 33, 39, 46, 52
	static const u16 types[3][3] = {{24, 0, 1}, {1, 9, 1}, {18, 0, 3}}, methods[4] = {33, 39, 46, 52};
	p4(m, 0x424a5342);
	p4(m + 12, 12);
	memcpy(m + 16, "v4.0.30319", 11);
	p2(m + 30, 2);
	pair(m + 32, 0x80, 0x100);
	memcpy(m + 40, "#~", 3);
	pair(m + 44, 0x200, sizeof(strings));
	memcpy(m + 52, "#Strings", 9);
	u8 *t = m + 0x80, *row = t + 24 + 3 * 4;
	t[4] = 2;
	p4(t + 8, 1 << 2 | 1 << 6);
	p4(t + 12, 1u << (0x29 - 32));
	p4(t + 24, 3);
	p4(t + 28, 4);
	p4(t + 32, 1);
	for (u32 i = 0; i < 3; i++, row += 14) { // flags, name, namespace, extends, fields, methods
		p2(row + 4, types[i][0]);
		p2(row + 6, types[i][1]);
		p2(row + 12, types[i][2]);
	}
	for (u32 i = 0; i < 4; i++, row += 14) // address, flags, flags, name, signature, parameters
		p2(row + 8, methods[i]);
	p2(row, 3);
	p2(row + 2, 2);
	memcpy(m + 0x200, strings, sizeof(strings));
}

static void make(u16 magic)
{
	u8 *h = file + 0x80, *o = h + 24;
	memset(file, 0, sizeof(file));
	memcpy(file, "MZ", 2);
	p4(file + 60, 0x80);
	memcpy(h, "PE\0", 4);
	p2(h + 4, 0x8664 ^ 0x7b79);
	p2(h + 6, 1);
	u32 tables = magic == 0x20b ? 112 : 96;
	p2(h + 20, tables + 128);
	p2(o, magic);
	p4(o + tables - 4, 16);
	pair(o + tables, RVA + EXPORTS, 0x80);
	pair(o + tables + 3 * 8, RVA + FUNCTIONS, 4 * 12);
	pair(o + tables + 14 * 8, RVA, 72);
	u8 *s = o + tables + 128;
	memcpy(s, ".text", 5);
	pair(s + 8, SIZE - OFF, RVA);
	pair(s + 16, SIZE - OFF, OFF);
	p4(s + 36, 0x60000020);
	u8 *clr = section(0), *r2r = section(80);
	p4(clr, 72);
	pair(clr + 8, RVA + META, 0x300);
	pair(clr + 64, RVA + 80, 16 + 3 * 12);
	memcpy(r2r, "RTR", 4);
	p4(r2r + 12, 3);
	static const u32 sections[3][3] = {{102, FUNCTIONS, 4 * 12}, {103, METHODS, 32}, {109, INSTANCES, 32}};
	for (u32 i = 0; i < 3; i++) {
		p4(r2r + 16 + i * 12, sections[i][0]);
		pair(r2r + 20 + i * 12, RVA + sections[i][1], sections[i][2]);
	}
	// 0: Second, 1: its handler, 2: First, 3: an instance of Third
	for (u32 i = 0; i < 4; i++) {
		pair(section(FUNCTIONS + i * 12), RVA + 0x800 + i * 64, RVA + 0x800 + i * 64 + 50);
		p4(section(FUNCTIONS + i * 12 + 8), RVA + 0x300);
	}
	static const u8 methods[] = {4 << 3 /* 4 elements, offsets of a byte */, 1, 1 << 1, 1 << 1, 1 << 1, (1 | 2 | 2 << 2) << 1, 2 << 2, 0 << 2};
	memcpy(section(METHODS), methods, sizeof(methods));
	// one bucket; the entry: a byte of its hash, how far it is; of a type that is generic over a string, method 3, function 3
	static const u8 instances[] = {0, 2, 4, 0x55, 2 << 1, 0, 0x40, 0x15, 0x12, 8, 1, 0x0e, 3, 3 << 2};
	memcpy(section(INSTANCES), instances, sizeof(instances));
	// three names: one of a function, one of code without unwind information, one that is another library's
	u8 *x = section(EXPORTS);
	pair(x + 20, 3, 3);
	pair(x + 28, RVA + EXPORTS + 40, RVA + EXPORTS + 52);
	p4(x + 36, RVA + EXPORTS + 64);
	for (u32 i = 0; i < 3; i++) {
		static const u32 functions[] = {RVA + 0x880, RVA + 0x900, RVA + EXPORTS + 70};
		p4(x + 40 + i * 4, functions[i]);
		p4(x + 52 + i * 4, RVA + EXPORTS + 74 + i * 6);
		p2(x + 64 + i * 2, 2 - i);
	}
	memcpy(x + 74, "Other\0Small\0Large", 18);
	make_metadata(section(META));
	p4(section(0x300), 1); // UNWIND_INFO: no frame
	memset(section(0x800), 0x90, 4 * 64);
}

// ---- code compiled at run time: what the runtime has of it, as debuggers find it
static struct {
	u64 table[8], manager, manages[8];
	struct {
		u64 next, heap, start, end, base, map, max, reserved;
	} heap;
	u64 type[8], module[2];
	struct {
		u64 type, next;
		u8 size, count;
		u16 tokens;
		u32 pad;
		struct {
			u16 remainder;
			u8 index, flags2;
			u16 slot, flags;
			u64 code;
		} desc[2];
	} chunk;
	struct {
		char magic[8];
		u32 flags, size;
		u64 text;
	} contract;
	u32 map[32];
	struct {
		u64 debug, exceptions, collector, method;
		u32 n, from, to, info;
	} header[3];
} clr;
static u8 code[8192] __attribute__((aligned(4096)));
static const char says[] = "{\"types\":{\"Module\":{\"Base\":8},\"MethodTable\":{\"Module\":24},\"MethodDesc\":{\"ChunkIndex\":2},\"MethodDescChunk\":{\"!\":24,\"FlagsAndTokenRange\":18}}}";
#define INFO 4096u // of all methods: push rbp

static u32 bit(u32 off)
{
	return (1 + off % 32 / 4) << (28 - 4 * (off % 256 / 32));
}

// `method`: 1 or 2 of the image's; writes all but the word before its code
static void compile(u32 nr, u32 off, u32 method)
{
	static const u8 body[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}, info[] = {1, 1, 1, 0, 1, 0x50};
	memcpy(code + off, body, sizeof(body));
	memcpy(code + INFO, info, sizeof(info));
	clr.header[nr].method = (u64)&clr.chunk.desc[method - 1];
	clr.header[nr].n = 1;
	clr.header[nr].from = off;
	clr.header[nr].to = off + sizeof(body);
	clr.header[nr].info = INFO;
	clr.map[off / 256] |= bit(off);
}

static void begins(u32 off, u64 header)
{
	memcpy(code + off - 8, &header, sizeof(header));
}

static void run_time(u64 end)
{
	memset(&clr, 0, sizeof(clr));
	memset(code, 0, sizeof(code));
	make(0x20b);
	clr.table[4] = (u64)&clr.manager;
	clr.manager = (u64)clr.manages;
	clr.manages[2] = (u64)&clr.heap;
	clr.heap.start = clr.heap.base = (u64)code;
	clr.heap.end = (u64)code + end;
	clr.heap.map = (u64)clr.map;
	clr.heap.max = 4096;
	clr.chunk.type = (u64)clr.type;
	clr.type[3] = (u64)clr.module;
	clr.module[1] = (u64)file;
	clr.chunk.desc[0].remainder = 2;
	clr.chunk.desc[1].remainder = 3;
	clr.chunk.desc[1].index = 2;
	memcpy(clr.contract.magic, "DNCCDAC", 8);
	clr.contract.size = sizeof(says) - 1;
	clr.contract.text = (u64)says;
}
#endif
