# The program that `make demo` traces: counts words.
use strict;
my %seen;
while (<>) { $seen{lc $1}++ while /(\w+)/g }
my @top = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
print "$_ $seen{$_}\n" for @top[0 .. 2];
