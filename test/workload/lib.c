// A library for dlopen: spins where its caller can be seen.
static volatile int sink;
__attribute__((noinline)) static int spin(int n)
{
	for (int i = 0; i < 1000; i++)
		sink += i * n;
	return sink;
}
int in_library(void)
{
	for (;;)
		sink += spin(sink);
}
