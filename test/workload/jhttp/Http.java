// A web server with pools of threads and collections at work, for programs.py. usage: java Http PORT SECONDS
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.*;

public class Http {
	static final class Order implements Comparable<Order> {
		final int id;
		final String buyer;
		final double sum;
		final List<String> items;
		Order(int id, String buyer, double sum, List<String> items) {
			this.id = id;
			this.buyer = buyer;
			this.sum = sum;
			this.items = items;
		}
		public int compareTo(Order o) {
			return sum != o.sum ? Double.compare(sum, o.sum) : Integer.compare(id, o.id);
		}
		public int hashCode() {
			return Objects.hash(id, buyer);
		}
		public boolean equals(Object o) {
			return o instanceof Order && ((Order)o).id == id && ((Order)o).buyer.equals(buyer);
		}
	}

	static final Map<String, byte[]> cache = Collections.synchronizedMap(new LinkedHashMap<String, byte[]>(64, 0.75f, true) {
		protected boolean removeEldestEntry(Map.Entry<String, byte[]> e) {
			return size() > 32;
		}
	});
	static final ConcurrentMap<String, AtomicLong> hits = new ConcurrentHashMap<>();
	static final ConcurrentNavigableMap<Integer, Order> store = new ConcurrentSkipListMap<>();
	static final Pattern words = Pattern.compile("([a-z]+)-(\\d+)");
	static final ExecutorService pool = Executors.newFixedThreadPool(8), side = Executors.newCachedThreadPool();
	static final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);

	static Order make(int id) {
		Random r = new Random(id);
		List<String> items = new ArrayList<>();
		for (int i = r.nextInt(8) + 1; i-- > 0;)
			items.add("item-" + r.nextInt(1000));
		return new Order(id, "buyer-" + r.nextInt(100), r.nextDouble() * 1000, items);
	}

	static Map<String, Double> byBuyer(Collection<Order> all) {
		return all.stream().collect(Collectors.groupingBy(o -> o.buyer, TreeMap::new, Collectors.summingDouble(o -> o.sum)));
	}

	static List<Order> best(Collection<Order> all, int n) {
		PriorityQueue<Order> q = new PriorityQueue<>();
		for (Order o : all) {
			q.add(o);
			if (q.size() > n)
				q.poll();
		}
		List<Order> out = new ArrayList<>(q);
		out.sort(Comparator.reverseOrder());
		return out;
	}

	static int numbers(Order o) {
		int sum = 0;
		for (String item : o.items) {
			java.util.regex.Matcher m = words.matcher(item);
			if (m.matches())
				sum += Integer.parseInt(m.group(2));
		}
		return sum;
	}

	static String page(int id) throws Exception {
		for (int i = 0; i < 20; i++)
			store.put((id * 20 + i) % 5000, make(id * 20 + i));
		List<Order> all = new ArrayList<>(store.values());
		Future<Map<String, Double>> sums = side.submit(() -> byBuyer(all));
		int total = all.parallelStream().mapToInt(Http::numbers).sum();
		StringBuilder s = new StringBuilder("{\"total\": ").append(total);
		for (Order o : best(all, 20))
			s.append(String.format(", \"%d\": \"%s %.2f\"", o.id, o.buyer, o.sum));
		for (Map.Entry<String, Double> e : sums.get().entrySet())
			s.append(", \"").append(e.getKey()).append("\": ").append(e.getValue());
		Set<Order> unique = new HashSet<>(all);
		return s.append(", \"n\": ").append(unique.size()).append('}').toString();
	}

	static void answer(HttpExchange x) throws IOException {
		String path = x.getRequestURI().getPath();
		hits.computeIfAbsent(path, k -> new AtomicLong()).incrementAndGet();
		byte[] body = cache.get(path);
		try {
			if (body == null || hits.get(path).get() % 3 == 0)
				cache.put(path, body = page(Integer.parseInt(path.substring(1))).getBytes(StandardCharsets.UTF_8));
			x.getResponseHeaders().set("Content-Type", "application/json");
			x.sendResponseHeaders(200, body.length);
			x.getResponseBody().write(body);
		} catch (Exception e) {
			throw new IOException(e);
		} finally {
			x.close();
		}
	}

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
		server.createContext("/", Http::answer);
		server.setExecutor(pool);
		timer.scheduleAtFixedRate(() -> store.headMap(100).clear(), 50, 50, TimeUnit.MILLISECONDS);
		server.start();
		Thread.sleep(Integer.parseInt(args[1]) * 1000L);
		System.exit(0);
	}
}
