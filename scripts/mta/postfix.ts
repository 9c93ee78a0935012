import type { Endpoint, MailServer } from "./mail-server.ts";

/**
 * An Internet host for virtual mailboxes. A full mailbox is found by Dovecot's quota-status policy service, which
 * measures it; the greylisted one asks postgrey, as its documentation shows.
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
smtpd_restriction_classes = greylist, quota
quota = check_policy_service unix:private/quota-status
greylist = check_policy_service unix:private/postgrey
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = reject_unauth_destination, reject_unlisted_recipient,
  check_recipient_access inline:{
    { full@postfix.test = quota }
    { existing@postfix.test = quota }
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

/** `quota_status_overquota` is the administrator's text; the documentation's example is a 552, many prefer a 4xx. */
const dovecotConf = `protocols =
log_path = /dev/stdout
mail_location = maildir:/var/mail/%n
mail_plugins = quota
first_valid_uid = 1
userdb {
  driver = static
  args = uid=vmail gid=vmail home=/var/mail/%n
}
passdb {
  driver = static
  args = nopassword=y
}
service quota-status {
  executable = quota-status -p postfix
  unix_listener /var/spool/postfix/private/quota-status {
    user = postfix
  }
  client_limit = 1
}
plugin {
  quota = maildir:User quota
  quota_rule = *:storage=1K
  quota_grace = 0
  quota_status_success = DUNNO
  quota_status_nouser = DUNNO
  quota_status_overquota = "452 4.2.2 Mailbox is full and cannot receive any more messages"
}
`;

export const postfix: MailServer = {
  name: "postfix",
  host: "mx.postfix.test",
  ip: "127.0.10.2",
  packages: [
    "postfix",
    "postgrey",
    "dovecot-core",
    "openssl",
    "dash",
    "coreutils",
    "diffutils",
    "findutils",
    "grep",
    "sed",
  ],
  users: [
    { name: "postfix", uid: 101, home: "/var/spool/postfix" },
    { name: "postdrop", uid: 102, home: "/nonexistent" },
    { name: "postgrey", uid: 103, home: "/var/lib/postgrey" },
    { name: "dovecot", uid: 104, home: "/usr/lib/dovecot" },
    { name: "dovenull", uid: 105, home: "/nonexistent" },
    { name: "vmail", uid: 106, home: "/var/mail" },
  ],
  mailboxes: [
    { address: "existing@postfix.test", kind: "existing" },
    { address: "missing@postfix.test", kind: "missing" },
    { address: "full@postfix.test", kind: "full" },
    { address: "greylisted@postfix.test", kind: "greylisted" },
    { address: "somebody@catchall.postfix.test", kind: "catch_all" },
  ],
  files: (endpoint) => ({
    "/etc/postfix/main.cf": mainCf,
    "/etc/postfix/master.cf": masterCf(endpoint),
    "/etc/dovecot/dovecot.conf": dovecotConf,
  }),
  start: `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mx.postfix.test \\
  -keyout /etc/postfix/key.pem -out /etc/postfix/cert.pem 2>/dev/null
mkdir -p /var/lib/postfix
chown postfix:postfix /var/lib/postfix
chown postgrey:postgrey /var/lib/postgrey
mkdir -p /var/mail/full/cur /var/mail/full/new /var/mail/full/tmp
dd if=/dev/zero of=/var/mail/full/cur/1.message:2,S bs=4096 count=1 2>/dev/null
chown -R vmail:vmail /var/mail
postfix start
dovecot
postgrey --unix=/var/spool/postfix/private/postgrey --dbdir=/var/lib/postgrey --user=postgrey --group=postgrey &
until [ -S /var/spool/postfix/private/postgrey ] && [ -S /var/spool/postfix/private/quota-status ]; do sleep 0.05; done
`,
};
