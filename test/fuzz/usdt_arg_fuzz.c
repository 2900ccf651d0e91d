// USDT argument specifications come from files we do not trust. First byte: architecture.
#include "probe/internal.h"

static bool find(void *arg, const char *name, u64 *vaddr)
{
	*vaddr = strlen(name) * 0x1000;
	return name[0] != 'x';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct UsdtSymbols syms = {find, NULL, 0x1000};
	struct UsdtArg a[12];
	bool bad;
	if (!size)
		return 0;
	enum PtArch arch = data[0] & 1 ? PT_ARM64 : PT_X86_64;
	char *spec = xmalloc(size);
	memcpy(spec, data + 1, size - 1);
	spec[size - 1] = 0;
	u32 n = usdt_args_parse(spec, arch, &syms, a, ARRAY_LEN(a), &bad);
	assert(n <= ARRAY_LEN(a));
	for (u32 i = 0; i < n; i++) {
		assert(a[i].size <= 8);
		if (a[i].size && a[i].kind == UA_REG)
			assert(a[i].reg >= 0 && a[i].reg < (int)ptregs_abi[arch].size);
		if (a[i].size && a[i].kind == UA_MEM)
			assert((a[i].reg >= 0 || a[i].index >= 0) && a[i].reg < (int)ptregs_abi[arch].size && a[i].index < (int)ptregs_abi[arch].size);
	}
	free(spec);
	return 0;
}
