// Stands still in a destructor that runs while an exception is on its way (two-phase unwinding is under our frames).
#include <cstdio>
#include <ctime>
#include <stdexcept>

static volatile bool forever = true;
struct Guard {
	~Guard()
	{
		timespec t = {1000, 0};
		puts("ready");
		fflush(stdout);
		while (forever)
			nanosleep(&t, nullptr);
	}
};
__attribute__((noinline)) static void thrower(int n)
{
	if (n)
		return thrower(n - 1);
	throw std::runtime_error("on its way");
}
__attribute__((noinline)) static void guarded()
{
	Guard g;
	thrower(3);
}
int main()
{
	try {
		guarded();
	} catch (std::exception &e) {
		puts(e.what());
	}
}
