// Virtual threads that force a file to its disk (fsync), half of them also after they have waited. usage: java JavaVirtual WANT
// It makes WANT.up, begins when the file WANT.go is there, and makes WANT.done in the end: 50 stacks of threads that never waited, 25 of such that did.
import java.io.*;

public class JavaVirtual {
	static FileDescriptor fd;

	static int down(int n) throws IOException {
		if (n > 0)
			return down(n - 1) + 1;
		fd.sync();
		return 1;
	}

	static void work(boolean wait) {
		try {
			down(3);
			if (!wait)
				return;
			Thread.sleep(5);
			down(2);
		} catch (IOException | InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] a) throws Exception {
		File go = new File(a[0] + ".go");
		fd = new FileOutputStream(a[0] + ".data").getFD();
		Thread.ofVirtual().start(() -> { }).join();
		new File(a[0] + ".up").createNewFile();
		while (!go.exists())
			Thread.sleep(20);
		for (int i = 0; i < 50; i++) {
			boolean wait = i % 2 == 0;
			Thread.ofVirtual().start(() -> work(wait)).join();
		}
		new File(a[0] + ".done").createNewFile();
		Thread.sleep(Long.MAX_VALUE);
	}
}
