# A filter of OpenSMTPD (smtpd-filters(7)) that greylists: perl greylist.pl SECONDS RECIPIENT...
#
# The named recipients are refused until SECONDS after the first question with the same sender.
use strict;
use warnings;

my ($wait, @recipients) = @ARGV;
my %greylisted = map { $_ => 1 } @recipients;
my (%sender, %first);
$| = 1;
while (my $line = <STDIN>) {
  chomp $line;
  if ($line eq "config|ready") {
    print "register|filter|smtp-in|mail-from\nregister|filter|smtp-in|rcpt-to\nregister|ready\n";
    next;
  }
  my ($kind, undef, undef, undef, $phase, $session, $token, $value) = split /\|/, $line, 8;
  next if $kind ne "filter";
  $value =~ s/^<|>$//g;
  my $verdict = "proceed";
  if ($phase eq "mail-from") {
    $sender{$session} = $value;
  } elsif ($greylisted{$value}) {
    my $since = $first{"$sender{$session} $value"} //= time;
    $verdict = "reject|451 4.7.1 Greylisting in action, please come back later" if time - $since < $wait;
  }
  print "filter-result|$session|$token|$verdict\n";
}
