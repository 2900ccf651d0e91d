// Calls statfs(2) for ever from N Java frames: an event whose stack is known, and that other programs hardly ever make. usage: java JavaFrames N
import java.io.File;

public class JavaFrames {
	static final File here = new File(".");
	static long sink;

	static long last(long a) {
		for (;;) {
			sink += here.getFreeSpace() + a;
			if (sink == Long.MIN_VALUE)
				return a;
		}
	}

	// Once with little to do, so that it is compiled; by two methods, which the compiler puts into one another less far than one that calls itself.
	static long down(int n, long a, boolean stay) {
		if (n > 1)
			return up(n - 1, a + n, stay) + a;
		return stay ? last(a) : a;
	}

	static long up(int n, long a, boolean stay) {
		if (n > 1)
			return down(n - 1, a ^ n, stay) - a;
		return stay ? last(a) : a;
	}

	public static void main(String[] args) {
		int n = Integer.parseInt(args[0]) - 4; // main(), last() and two of java.io
		for (int i = 0; i < 40000; i++)
			sink += down(n, i, false) + up(n, i, false);
		down(n, 1, true);
	}
}
