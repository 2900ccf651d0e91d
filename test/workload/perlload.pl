#!/usr/bin/perl
# Perl at work for test/workload/runtimes.py: callbacks from C (sort, List::Util, tie, overload, regular expressions), evals, closures, methods, exceptions, string
# evals, requires, in a process and a worker it has forked.
#
# usage: perlload.pl SECONDS       works so long
#        perlload.pl FILE STACKS   writes to FILE what caller() says of its own stack in so many callbacks (as test/run/perl_stack.pl), unlocking it after each
use strict;
use warnings;
use List::Util qw(first reduce sum0 shuffle);
use Time::HiRes qw(time);

my $left = $ARGV[1] // 0;
my $want;
if ($left) {
	open $want, '>>', $ARGV[0] or die;
}
my $ends = time + ($left ? 600 : $ARGV[0]);

sub ask {
	return 1 unless $want && $left-- > 0;
	my ($text, $i, $at) = ('', 0, __FILE__ . ':' . (__LINE__ + 6));
	while (my ($package, $file, $line, $sub) = caller($i++)) {
		$text .= "$sub $at\n";
		$at = "$file:$line";
	}
	syswrite $want, "$text(main) $at\n\n";
	flock($want, 8);
	exit 0 unless $left;
	return 1;
}

package Shape {
	use overload '+' => \&add, '""' => sub { main::ask() if rand 40 < 1; 'shape ' . $_[0]{side} }, '<=>' => sub { $_[0]{side} <=> (ref $_[1] ? $_[1]{side} : $_[1]) };

	sub new {
		my ($class, %of) = @_;
		return bless {%of}, $class;
	}

	sub area {
		my $self = shift;
		main::ask() if rand 20 < 1;
		return $self->{side}**2;
	}

	sub add {
		my ($a, $b) = @_;
		my $v = eval { die "not a shape\n" unless ref $b; main::ask() if rand 30 < 1; $b->{side} };
		main::ask() if rand 30 < 1;
		return Shape->new(side => $a->{side} + ($v // 0));
	}

	sub DESTROY {
		my $self = shift;
		eval { main::ask() } if rand 100 < 1;
	}
}

package Counted {
	sub TIEHASH { bless {}, shift }
	sub FETCH { my ($self, $key) = @_; main::ask() if rand 50 < 1; return $self->{$key} }
	sub STORE { my ($self, $key, $value) = @_; eval { $self->{$key} = $value; main::ask() if rand 50 < 1 } }
	sub FIRSTKEY { my $self = shift; my $n = keys %$self; each %$self }
	sub NEXTKEY { my $self = shift; each %$self }
	sub EXISTS { exists $_[0]{$_[1]} }
}

sub fib {
	my $n = shift;
	return $n < 2 ? $n : fib($n - 1) + fib($n - 2);
}

sub by_length {
	ask() if rand 100 < 1;
	return length($a) <=> length($b) || $a cmp $b;
}

sub words {
	my $n = shift;
	my @words = map { join '', map { chr(97 + ($_ * 7919) % 26) } 1 .. $_ % 17 } 1 .. $n;
	@words = sort by_length @words;
	@words = reverse sort { ask() if rand 200 < 1; $b cmp $a } @words;
	return grep { !/zz/ } @words;
}

sub risky {
	my $n = shift;
	eval {
		die { number => $n } if $n % 2;
		ask() if rand 20 < 1;
	};
	return $@ ? $@->{number} : 0;
}

sub count_words {
	my %count;
	tie %count, 'Counted';
	$count{$_} = ($count{$_} // 0) + 1 for @_;
	return join ',', map { "$_=$count{$_}" } sort keys %count;
}

sub round_of_work {
	my @words = words(150);
	my $text = join ' ', @words;
	$text =~ s/([aeiou]+)/ask() if rand 100 < 1; uc $1/ge;
	$text =~ /(\w+)(?{ ask() if rand 30 < 1 }) x/;
	my @shapes = map { Shape->new(side => $_) } shuffle 1 .. 30;
	my $sum = sum0 map { $_->area } @shapes;
	my $total = reduce { $a + $b } @shapes;
	my $large = first { ask() if rand 100 < 1; $_->{side} > 20 } sort { $a <=> $b } @shapes;
	$sum += risky($_) for 1 .. 20;
	$sum += eval "my \$x = $sum; sub { ask() if rand 3 < 1; \$x + 1 }->()";
	my @numbers = map { my $n = $_; sub { ask() if rand 100 < 1; $n + shift } } 1 .. 10;
	$sum += $_->(2) for @numbers;
	local $SIG{__WARN__} = sub { ask() };
	warn 'odd' if rand 10 < 1;
	return count_words(@words) . "$total $large" . fib(12) . sprintf '%.3f', $sum;
}

if (!$want && !fork) {
	$ends += 0.1;
}
round_of_work() while time < $ends;
