// Loads and attaches every program of an object file by libbpf, and waits to be ended. usage: peer FILE.o
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_object *o = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *p;
	if (!o || bpf_object__load(o))
		return 1;
	bpf_object__for_each_program(p, o)
		if (!bpf_program__attach(p))
			return 1;
	pause();
	return 0;
}
