<?php // As deep.py; locks a file (flock).
$file = fopen(__FILE__, 'r');

function last() {
	global $file;
	for (;;)
		flock($file, LOCK_SH);
}

function down($n) {
	if ($n > 1)
		up($n - 1);
	else
		last();
}

function up($n) {
	if ($n > 1)
		down($n - 1);
	else
		last();
}

down((int)$argv[1]);
