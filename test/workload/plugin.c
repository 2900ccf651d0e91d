// A plug-in for plugins.c, which makes many of it by another name in place of plug_0000.
__attribute__((noinline, used)) static long plug_0000(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

long entry(long n)
{
	return plug_0000(n) + 1;
}
