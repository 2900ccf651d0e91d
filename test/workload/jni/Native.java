// Java that calls C that calls Java, several deep, from threads of both. usage: java -Djava.library.path=DIR Native SECONDS
import java.util.Arrays;
import java.util.Comparator;

public class Native {
	static native long sort(Integer[] a, Comparator<Integer> by); // by qsort(3), which asks `by`
	static native long nest(Native n, int depth);		       // calls n.deeper(depth - 1)
	static native void start(Native n, int seconds);	       // a thread of C's own that calls n.work()
	static native void doze();				       // sleeps 1 ms in C
	long sum;

	long deeper(int depth) {
		if (depth > 0)
			return nest(this, depth) + 1;
		doze();
		return sum++;
	}

	long sorted(int n) {
		Integer[] a = new Integer[n];
		for (int i = 0; i < n; i++)
			a[i] = (int)(i * 2654435761L % 1000);
		long compared = sort(a, (x, y) -> Integer.compare(hash(x), hash(y)));
		if (Arrays.stream(a).mapToInt(Native::hash).max().getAsInt() != hash(a[n - 1]))
			throw new AssertionError("not sorted");
		return compared;
	}

	static int hash(int x) {
		return String.valueOf(x).hashCode();
	}

	long work() {
		return sorted(500) + deeper(8);
	}

	public static void main(String[] args) {
		System.loadLibrary("native");
		Native n = new Native();
		int seconds = Integer.parseInt(args[0]);
		start(n, seconds);
		long end = System.nanoTime() + seconds * 1000000000L;
		while (System.nanoTime() < end)
			n.work();
	}
}
