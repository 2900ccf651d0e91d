#!/usr/bin/perl
# A program whose Perl stacks are known: ask() writes what caller() says of its own stack and then unlocks its file (flock).
#
# usage: perl_stack.pl FILE calls | fork | deep N | phases
# Lines of FILE: for each stack its frames, innermost first: "sub file:line", then an empty line. Statements whose line caller() finds in another way than by the
# statement itself (conditions of an elsif) are not here.
use strict;
use warnings;
use List::Util qw(first reduce);

our $out;
BEGIN { open($out, '>>', $ARGV[0]) or die }

sub ask {
	my ($text, $i, $at) = ('', 0, __FILE__ . ':' . (__LINE__ + 7));
	while (my ($package, $file, $line, $sub) = caller($i++)) {
		$text .= "$sub $at\n" unless $at =~ /:0$/; # around END: no line is told
		$at = "$file:$line";
	}
	$text .= "(main) $at\n" if ${^GLOBAL_PHASE} eq 'RUN'; # before and after it is not run
	syswrite $out, "$text\n";
	flock($out, 8);
}

package Base {
	use overload '""' => sub { main::ask(); 'text' }, '+' => \&plus, '<=>' => sub { main::ask(); 0 };

	sub new {
		my $class = shift;
		return bless {}, $class;
	}

	sub method {
		main::ask();
	}

	sub plus {
		eval { main::ask(); };
		main::ask(); # what is left of the outer loop
		return 1;
	}

	sub AUTOLOAD {
		our $AUTOLOAD;
		return if $AUTOLOAD =~ /DESTROY/;
		main::ask();
	}
}

package Derived {
	our @ISA = 'Base';

	sub DESTROY {
		my $x = eval { main::ask(); 1 };
		main::ask();
	}
}

package Tied {
	sub TIESCALAR { main::ask(); bless [] }
	sub FETCH { main::ask(); 5 }
	sub STORE { eval { die 'x' }; main::ask() }
}

sub by_sort {
	ask();
	return $a <=> $b;
}

sub tail {
	goto &ask;
}

sub many_lines {
	return (1,
		ask(),
		2);
}

sub down {
	my $n = shift;
	$n ? down($n - 1) : ask();
}

sub by_die {
	local $SIG{__DIE__} = sub { ask() };
	local $SIG{__WARN__} = sub { ask() };
	eval { die 'a reason' };
	warn 'a warning';
	eval { eval { ask(); die 1 }; ask() };
}

sub by_regexp {
	my $text = 'abc';
	$text =~ s/(b)/ask(); 'x'/e;
	'abc' =~ /b(?{ ask() })/;
	$text =~ s/(a)/'ask(); 1'/ee;
}

sub by_sorts {
	my @l = sort { ask(); $a <=> $b } 2, 1;
	@l = sort by_sort 2, 1;
	@l = sort { ask() } 2, 1;
	@l = sort { (first { ask(); 1 } 1); by_sort() } 2, 1;
	my $f = first { ask(); 0 } 1, 2;
	$f = reduce { by_sort(); $a + $b } 1, 2, 3;
	@l = map { ask(); $_ } grep { ask(); 1 } 1;
	@l = sort { eval { ask(); die 1 }; ask(); 0 } 1, 2;
}

sub by_signal {
	local $SIG{USR1} = sub { ask(); eval { ask() }; ask() };
	kill 'USR1', $$;
	my $i = 1;
}

sub by_tie {
	tie my $t, 'Tied';
	my $x = $t + 1;
	$t = 7;
}

sub by_eval {
	eval "ask();\n ask()";
	eval { ask() };
	eval 'package Other; sub made { main::ask() } made(); 1' or die;
	eval "#line 77 \"other.pl\"\nask()";
	eval "BEGIN { main::ask() } sub later { ask() }";
	later();
}

sub by_methods {
	my $d = Derived->new;
	$d->method;
	$d->missing(1);
	my $text = "$d" . ($d + 1);
	my $name = 'method';
	Derived->can($name)->($d);
	my @l = sort { $a <=> $b } $d, Base->new;
}

sub by_nested {
	my $inner = sub {
		return (sub { ask() })->();
	};
	$inner->();
	my sub lexical { ask(); return }
	lexical();
	local *alias = \&by_sort;
	no warnings 'once';
	our ($a, $b) = (1, 2);
	alias();
	do { ask() };
	for my $i (1 .. 2) {
		ask() unless $i - 1;
	}
	tail();
}


sub calls {
	by_methods();
	by_sorts();
	by_die();
	by_regexp();
	by_signal();
	by_tie();
	by_eval();
	by_nested();
	many_lines();
	down(30);
}

# While the program is compiled, before and after it runs
BEGIN {
	if ($ARGV[1] eq 'phases') {
		ask();
		push @INC, sub {
			my $text = "package Loaded;\nmain::ask();\nsub import {\n main::ask();\n}\nBEGIN {\n my \$x = eval { main::ask(); 1 };\n my \@l = sort { main::ask(); 0 } 1, 2;\n}\neval 'main::ask()';\n1;\n";
			open my $from, '<', \$text or die;
			return $_[1] eq 'Loaded.pm' ? $from : undef;
		};
		our $kept = bless {}, 'Derived';
	}
}
use if $ARGV[1] eq 'phases', 'Loaded';
INIT { ask() if $ARGV[1] eq 'phases' }
CHECK { ask() if $ARGV[1] eq 'phases' }

my $what = $ARGV[1];
if ($what eq 'calls') {
	open STDERR, '>', '/dev/null';
	calls();
	ask();
} elsif ($what eq 'deep') {
	no warnings 'recursion';
	down($ARGV[2]);
} elsif ($what eq 'fork') {
	for (1 .. 3) {
		unless (fork) {
			calls_of_child();
			exit 0;
		}
		wait;
	}
}

sub calls_of_child { ask() }

END { ask() if $what && $what eq 'calls' }
