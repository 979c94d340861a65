"""perl: closures, regular expressions, sorting, die and eval, fork, pipes, signals, sprintf."""
from real import real_program, which

SCRIPT = r'''
use strict; use warnings;
$| = 1;
my %words; my $text = join " ", map { "word" . ($_ * 7919 % 31) } 1 .. 500;
$words{$1}++ while $text =~ /\bword(\d+)\b/g;
print join(",", map { "$_=$words{$_}" } sort { $words{$b} <=> $words{$a} || $a <=> $b } keys %words), "\n";
sub make { my $n = shift; return sub { return $n += shift } }
my $count = make(10); $count->($_) for 1 .. 20; print $count->(0), "\n";
sub deep { my $n = shift; die { depth => 0 } unless $n; eval { deep($n - 1); 1 } or do {
  my $e = $@; $e->{depth}++; die $e } }
eval { deep(40) }; print "depth $@->{depth}\n";
local $SIG{USR1} = sub { print "signal\n" }; kill USR1 => $$;
local $SIG{ALRM} = sub { die "alarm\n" };
eval { alarm 1; select undef, undef, undef, 5; 1 } or print "after $@";
my $pid = open my $from, "-|"; if (!$pid) { print "child line $_\n" for 1 .. 3; exit 7 }
print while <$from>; close $from; print "status ", $? >> 8, "\n";
print sprintf("%.10f %e %s", atan2(1, 1) * 4, 2 ** 70, "x" x 5), "\n", scalar reverse("spoor"), "\n";
print `echo from a shell; exit 2`, $? >> 8, "\n";
$! = 9; die "the end\n";
'''

real_program([which("perl"), "-e", SCRIPT], status=9, processes=3)
