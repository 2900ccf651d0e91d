// Stands still in a destructor that runs while an exception is on its way (two-phase unwinding is under our frames). With an argument it goes
// on throwing and catching instead.
#include <cstdio>
#include <ctime>
#include <stdexcept>

static volatile bool forever = true;
static bool loop;
static volatile int sink;
struct Guard {
	~Guard()
	{
		timespec t = {1000, 0};
		if (loop) {
			sink = sink + 1;
			return;
		}
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
int main(int argc, char **)
{
	loop = argc > 1;
	if (loop) {
		puts("ready");
		fflush(stdout);
	}
	while (loop) {
		try {
			guarded();
		} catch (std::exception &e) {
			sink = sink + e.what()[0];
		}
	}
	try {
		guarded();
	} catch (std::exception &e) {
		puts(e.what());
	}
}
