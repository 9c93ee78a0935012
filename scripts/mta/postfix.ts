import type { Endpoint, MailServer } from "./mail-server.ts";

/**
 * An Internet host for virtual mailboxes. The full mailbox answers as with a quota policy at RCPT (the code and text
 * that administrators set there); the greylisted one asks postgrey, as its documentation shows.
 */
const mainCf = `compatibility_level = 3.6
myhostname = mx.postfix.test
mydestination =
mynetworks =
alias_maps =
inet_interfaces = loopback-only
inet_protocols = ipv4
smtpd_tls_security_level = may
smtpd_tls_cert_file = /etc/postfix/cert.pem
smtpd_tls_key_file = /etc/postfix/key.pem
virtual_mailbox_domains = postfix.test, catchall.postfix.test
virtual_mailbox_base = /var/mail
virtual_mailbox_maps = inline:{
  { existing@postfix.test = existing/ }
  { full@postfix.test = full/ }
  { greylisted@postfix.test = greylisted/ }
  { @catchall.postfix.test = everyone/ }
  }
smtpd_restriction_classes = greylist
greylist = check_policy_service unix:private/postgrey
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = reject_unauth_destination, reject_unlisted_recipient,
  check_recipient_access inline:{
    { full@postfix.test = 452 4.2.2 Mailbox is full }
    { greylisted@postfix.test = greylist }
    }
`;

/** The services that a dialogue up to RCPT needs; none is chrooted again. */
const masterCf = ({ ip, port }: Endpoint) => `${ip}:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
rewrite unix - - n - - trivial-rewrite
proxymap unix - - n - - proxymap
tlsmgr unix - - n 1000? 1 tlsmgr
anvil unix - - n - 1 anvil
`;

export const postfix: MailServer = {
  name: "postfix",
  host: "mx.postfix.test",
  ip: "127.0.10.2",
  packages: ["postfix", "postgrey", "openssl", "dash", "coreutils", "diffutils", "findutils", "grep", "sed"],
  users: [
    { name: "postfix", uid: 101, home: "/var/spool/postfix" },
    { name: "postdrop", uid: 102, home: "/nonexistent" },
    { name: "postgrey", uid: 103, home: "/var/lib/postgrey" },
  ],
  mailboxes: [
    { address: "existing@postfix.test", kind: "existing" },
    { address: "missing@postfix.test", kind: "missing" },
    { address: "full@postfix.test", kind: "full" },
    { address: "greylisted@postfix.test", kind: "greylisted" },
    { address: "somebody@catchall.postfix.test", kind: "catch_all" },
  ],
  files: (endpoint) => ({ "/etc/postfix/main.cf": mainCf, "/etc/postfix/master.cf": masterCf(endpoint) }),
  start: `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mx.postfix.test \\
  -keyout /etc/postfix/key.pem -out /etc/postfix/cert.pem 2>/dev/null
mkdir -p /var/lib/postfix
chown postfix:postfix /var/lib/postfix
chown postgrey:postgrey /var/lib/postgrey
postfix start
postgrey --unix=/var/spool/postfix/private/postgrey --dbdir=/var/lib/postgrey --user=postgrey --group=postgrey &
until [ -S /var/spool/postfix/private/postgrey ]; do sleep 0.05; done
`,
};
