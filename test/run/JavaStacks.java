// A program whose Java stacks are known: ask() writes what the VM says of its own stack and then forces a file to its disk (fsync).
// usage: java JavaStacks WANT STACKS     Every tenth round of many asks, so that what asks is interpreted first and compiled, and compiled again, later. It
// makes WANT.up, begins when the file WANT.go is there, and makes WANT.done in the end. STACKS -1: it works for ever and never asks.
// Lines of WANT: for each stack its frames, innermost first: "class.method file:line", then an empty line.
import java.io.*;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.IntStream;

public class JavaStacks {
	static final StackWalker walker = StackWalker.getInstance(EnumSet.of(StackWalker.Option.SHOW_HIDDEN_FRAMES, StackWalker.Option.SHOW_REFLECT_FRAMES));
	static PrintWriter out;
	static FileDescriptor fd;
	static int round, left, sum;

	static void say(StackWalker.StackFrame f) {
		out.println(f.getClassName() + "." + f.getMethodName() + " " + f.getFileName() + ":" + f.getLineNumber());
	}

	static int ask() {
		if (round++ % 10 == 0 && left > 0) {
			left--;
			try {
				walker.forEach(f -> say(f)); fd.sync();
			} catch (IOException e) {
				throw new UncheckedIOException(e);
			}
			out.println();
		}
		return round;
	}

	interface Shape {
		int area();
		default int twice() {
			return 2 * area();
		}
	}
	static class Square implements Shape {
		final int a;
		Square(int a) {
			this.a = a;
		}
		public int area() {
			return a * ask();
		}
	}
	static class Circle implements Shape {
		public int area() {
			return 3 * ask();
		}
	}
	static abstract class Generic<T extends Comparable<T>> {
		abstract int of(T a, T b);
	}
	static class OfInts extends Generic<Integer> {
		int of(Integer a, Integer b) { // a bridge calls it
			return a.compareTo(b) + ask();
		}
	}

	static int down(int n) {
		return n == 0 ? ask() : 1 + down(n - 1);
	}

	static int raising(int n) {
		try {
			if (n > 0)
				throw new IllegalStateException();
			return 0;
		} catch (IllegalStateException e) {
			return ask();
		} finally {
			sum++;
		}
	}

	static synchronized int locked() {
		return ask();
	}

	static int déjàVu(String s) {
		switch (s) {
		case "a":
			return 1;
		default:
			return s.length() +
			       ask();
		}
	}

	static int sorted() {
		Integer[] v = {3, 1, 2};
		Arrays.sort(v, (a, b) -> { ask(); return a - b; });
		return v[0];
	}

	static final Method reflected;
	static {
		try {
			reflected = JavaStacks.class.getDeclaredMethod("locked");
		} catch (NoSuchMethodException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	static int again(int i) throws Exception {
		Shape[] shapes = {new Square(i), new Circle()};
		Supplier<Integer> s = JavaStacks::ask;
		Callable<Integer> c = () -> down(i % 12);
		Generic<Integer> g = new OfInts();
		Map<Integer, Integer> m = new HashMap<>();
		int n = s.get() + c.call() + g.of(i, 1) + shapes[i % 2].twice() + raising(i) + déjàVu("b") + sorted();
		n += m.computeIfAbsent(i, k -> ask()) + (int) reflected.invoke(null);
		n += IntStream.range(0, 2).map(x -> x + ask()).sum();
		return n;
	}

	public static void main(String[] a) throws Exception {
		File go = new File(a[0] + ".go");
		FileOutputStream file = new FileOutputStream(a[0] + ".data");
		fd = file.getFD();
		left = Integer.parseInt(a[1]);
		out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(new FileOutputStream(a[0]), "UTF-8")));
		new File(a[0] + ".up").createNewFile();
		while (!go.exists())
			Thread.sleep(20);
		for (int i = 0; left != 0; i++)
			sum += again(i);
		out.close();
		new File(a[0] + ".done").createNewFile();
		Thread.sleep(Long.MAX_VALUE);
	}
}
