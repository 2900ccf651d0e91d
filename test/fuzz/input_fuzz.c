// Profiles from files: any bytes are samples or an error, in bounded memory, and what was read can be written in every form.
#include "input/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {0};
	struct InputWish wish = {0};
	if (size > 1 << 16)
		return 0;
	char *text = xmalloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	struct err *e = input_parse(&in, &wish, text, size);
	u64 frames = 0;
	for (u32 i = 0; i < in.prof.n; i++)
		frames += in.prof.samples[i].nuser + in.prof.samples[i].nkern;
	free(text); // nothing may point into it
	FILE *out = fopen("/dev/null", "w");
	if (!e && out && frames < 1 << 16) {
		folded_write(&in.prof, out);
		for (u32 i = 0; i < OUTPUTS; i++)
			err_free(outputs[i].write(&in.prof, out));
	}
	if (out)
		fclose(out);
	err_free(e);
	input_deinit(&in);
	return 0;
}
