<?php
// PHP at work for test/workload/runtimes.py: callbacks from C (usort, array_map, preg_replace_callback, spl_autoload), generators, closures, methods, exceptions, strings,
// arrays, in a process and a worker it has forked.
//
// usage: phpload.php SECONDS       works so long
//        phpload.php FILE STACKS   writes to FILE what the interpreter says of its own stack in so many callbacks (as test/run/php_stack.php), unlocking it after each

$left = (int)($argv[2] ?? 0);
$want = $left ? fopen($argv[1], 'a') : null;
$ends = microtime(true) + ($left ? 600 : (float)$argv[1]);

function ask() {
	global $want, $left;
	if (!$want || $left-- <= 0)
		return;
	$at = ['file' => __FILE__, 'line' => __LINE__ + 8];
	$text = "flock php\n";
	foreach (array_merge(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), [null]) as $f) {
		$name = $f === null ? '{main}' : (isset($f['class']) ? $f['class'] . '::' : '') . $f['function'];
		$text .= isset($at['file']) ? "$name {$at['file']}:{$at['line']}\n" : "$name php\n";
		$at = $f;
	}
	fwrite($want, "$text\n");
	flock($want, LOCK_UN);
	if (!$left)
		exit(0);
}

interface Shape {
	public function area();
}

class Square implements Shape {
	private $side;
	public function __construct($side) {
		$this->side = $side;
	}
	public function area() {
		ask();
		return $this->side ** 2;
	}
	public function __get($name) {
		ask();
		return strlen($name);
	}
}

function numbers($n) {
	for ($i = 0; $i < $n; $i++) {
		if ($i % 50 == 0)
			ask();
		yield $i;
	}
}

function fib($n) {
	return $n < 2 ? $n : fib($n - 1) + fib($n - 2);
}

function words($n) {
	$words = [];
	foreach (numbers($n) as $i)
		$words[] = md5((string)$i);
	usort($words, function ($a, $b) {
		if (rand(0, 40) == 0)
			ask();
		return strcmp($a, $b);
	});
	return $words;
}

function risky($n) {
	try {
		if ($n % 2)
			throw new RuntimeException("odd $n");
	} catch (RuntimeException $e) {
		ask();
		return strlen($e->getMessage());
	} finally {
		$n++;
	}
	return $n;
}

function round_of_work() {
	$words = words(120);
	$text = preg_replace_callback('/[0-9]+/', function ($m) {
		if (rand(0, 60) == 0)
			ask();
		return strrev($m[0]);
	}, implode(' ', $words));
	$shapes = array_map(fn($i) => new Square($i), range(1, 40));
	$sum = array_sum(array_map(fn(Shape $s) => $s->area() + $s->size, $shapes));
	$sum += array_reduce(range(1, 30), fn($a, $i) => $a + risky($i), 0);
	$data = json_decode(json_encode(['text' => $text, 'sum' => $sum + fib(12), 'list' => array_flip($words)]), true);
	ksort($data['list']);
	return strlen(serialize($data));
}

if (!$want && function_exists('pcntl_fork') && !pcntl_fork())
	$ends += 0.1;
while (microtime(true) < $ends)
	round_of_work();
