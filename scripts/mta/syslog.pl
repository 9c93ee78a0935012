# What the mail server tells syslog goes to standard output, that is into its log file, and never to the system's.
use strict;
use warnings;
use IO::Socket::UNIX;
use Socket;

my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "/dev/log") or die "cannot listen on /dev/log: $!";
chmod 0666, "/dev/log";
$| = 1;
while (defined $socket->recv(my $line, 8192)) {
  $line =~ s/^<\d+>|\0//g;
  print "$line\n";
}
