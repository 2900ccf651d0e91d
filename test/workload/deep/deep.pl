# As deep.py; locks a file (flock).
use strict;
use warnings;
no warnings 'recursion';
open my $file, '<', $0 or die $!;

sub last_one {
	flock $file, 1 while 1;
}

sub down {
	my $n = shift;
	return $n > 1 ? up($n - 1) : last_one();
}

sub up {
	my $n = shift;
	return $n > 1 ? down($n - 1) : last_one();
}

down($ARGV[0]);
