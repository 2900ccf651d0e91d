// Compares strings for ever, in code that the compiler makes from its own templates, which push in the middle of a method; hashes, in a stub that needs the frame
// pointer for itself. It was seen that callers of the first were made up. usage: java JavaStrings FILE: makes FILE.up when all is compiled.
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;

public class JavaStrings {
	static long sink;

	static void compare(String[] keys) {
		TreeMap<String, Integer> map = new TreeMap<>();
		for (String k : keys)
			map.merge(k, 1, Integer::sum);
		sink += map.size();
	}

	public static void main(String[] args) throws Exception {
		String[] keys = new String[2000];
		Random random = new Random(1);
		for (int i = 0; i < keys.length; i++)
			keys[i] = "a name that begins as all the others do, number " + random.nextInt(1000);
		MessageDigest d = MessageDigest.getInstance("SHA-256");
		byte[] bytes = new byte[4096];
		for (int i = 0;; i++) {
			compare(keys);
			sink += d.digest(bytes)[0];
			if (i == 300)
				Files.createFile(Path.of(args[0] + ".up"));
		}
	}
}
