<?php
// A program whose PHP stacks are known: ask() writes what the interpreter says of its own stack and then unlocks its file (flock).
//
// usage: php_stack.php FILE calls | fibers | fork | deep N
// Lines of FILE: for each stack its frames, innermost first: "function file:line", of functions in C "function php", then an empty line.

$out = fopen($argv[1], 'a');

function say() {
	global $out;
	$trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
	array_shift($trace); // this one: its caller's frame comes next, at the line of this call
	$at = ['file' => __FILE__, 'line' => $GLOBALS['asked']];
	$text = "flock php\n";
	foreach (array_merge($trace, [null]) as $f) {
		$name = $f === null ? '{main}' : (isset($f['class']) ? $f['class'] . '::' : '') . $f['function'];
		if ($f !== null && in_array($f['function'], ['include', 'include_once', 'require', 'require_once', 'eval']))
			$name = '{main}';
		$text .= isset($at['file']) ? "$name {$at['file']}:{$at['line']}\n" : "$name php\n";
		$at = $f;
	}
	fwrite($out, "$text\n");
}

function ask() {
	global $asked;
	$asked = __LINE__ + 1;
	say(); flock($GLOBALS["out"], LOCK_UN);
}

class Base {
	public function method() {
		ask();
	}

	public static function ofClass() {
		(new static)->method();
	}

	public function __get($name) {
		ask();
		return $name;
	}

	public function __toString() {
		ask();
		return '';
	}
}

class Derived extends Base {
	public function __destruct() {
		ask();
	}
}

function bySort($a, $b) {
	ask();
	return $a <=> $b;
}

function generator() {
	yield 1;
	ask();
	yield 2;
}

function fromGenerator() {
	foreach (generator() as $_)
		;
}

function nested() {
	$inner = function () {
		return (fn() =>
			ask())();
	};
	$inner();
}

function byEval() {
	eval('
	ask();');
}

function byException() {
	try {
		throw new Exception;
	} catch (Exception $e) {
		ask();
	} finally {
		ask();
	}
}

function manyLines($a = 1,
		   $b = 2) {
	return [$a,
		ask(),
		$b];
}

function down($n) {
	if ($n)
		down($n - 1);
	else
		ask();
}

function calls() {
	Derived::ofClass();
	$l = [1, 2];
	usort($l, 'bySort');
	fromGenerator();
	nested();
	byEval();
	byException();
	manyLines();
	array_map(function ($x) {
		usort($x, 'bySort');
	}, [[1, 2]]);
	call_user_func_array([new Base, 'method'], []);
	$b = new Base;
	$b->missing;
	"$b";
	preg_replace_callback('/x/', function ($m) {
		ask();
		return '';
	}, 'x');
	array_walk($l, fn() => (function () { ask(); })());
}

function waits($n) {
	ask();
	Fiber::suspend();
	array_map(fn() => ask(), [1]);
	if ($n) {
		$f = new Fiber('waits');
		$f->start($n - 1);
		$f->resume();
	}
}

function goesOn($f) {
	$f->resume();
}

function fibers() { // PHP 8.1: what runs in one was called by who started it, or goes on with it
	$f = new Fiber('waits');
	array_map(fn() => $f->start(2), [1]);
	goesOn($f);
	$g = (function () { yield 1; (new Fiber(fn() => ask()))->start(); yield 2; })();
	foreach ($g as $_)
		;
	$t = new Fiber(function () { try { Fiber::suspend(); } finally { ask(); } });
	$t->start();
	try {
		$t->throw(new Exception);
	} catch (Exception $e) {
		ask();
	}
}

switch ($argv[2]) {
case 'calls':
	calls();
	break;
case 'fibers':
	fibers();
	break;
case 'deep':
	down((int)$argv[3]);
	break;
case 'fork':
	for ($i = 0; $i < 3; $i++) {
		if (!pcntl_fork()) {
			ask();
			exit(0);
		}
		pcntl_wait($status);
	}
}
