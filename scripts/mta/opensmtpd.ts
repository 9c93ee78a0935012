import type { Endpoint, MailServer } from "./mail-server.ts";

const MAILBOXES = [
  "existing@opensmtpd.test",
  "full@opensmtpd.test",
  "greylisted@opensmtpd.test",
  "@catchall.opensmtpd.test",
]
  .map((address) => `"${address}" = vmail`)
  .join(", ");

/**
 * One domain of virtual mailboxes and one of system users, which refuse a missing mailbox in different words. Neither a
 * quota nor greylisting is built in: both are filters, the first with the words of RFC 3463, the second with those of
 * the usual greylisting milters.
 */
const config = ({ ip, port }: Endpoint) => `table full { "full@opensmtpd.test" }
table greylisted { "greylisted@opensmtpd.test" }
table mailboxes { ${MAILBOXES} }
filter "quota" phase rcpt-to match rcpt-to <full> reject "552 5.2.2 Mailbox full"
filter "greylist" phase rcpt-to match rcpt-to <greylisted> \\
  reject "451 4.7.1 Greylisting in action, please come back later"
listen on ${ip} port ${port} hostname mx.opensmtpd.test filter { "quota", "greylist" }
action "users" maildir
action "virtual" maildir "/var/mail/%{rcpt}" virtual <mailboxes>
match from any for domain "users.opensmtpd.test" action "users"
match from any for domain { "opensmtpd.test", "catchall.opensmtpd.test" } action "virtual"
`;

export const opensmtpd: MailServer = {
  name: "opensmtpd",
  host: "mx.opensmtpd.test",
  ip: "127.0.10.4",
  packages: ["opensmtpd", "dash", "coreutils"],
  users: [
    { name: "opensmtpd", uid: 101, home: "/var/lib/opensmtpd/empty" },
    { name: "opensmtpq", uid: 102, home: "/var/lib/opensmtpd/empty" },
    { name: "vmail", uid: 103, home: "/var/mail" },
  ],
  mailboxes: [
    { address: "existing@opensmtpd.test", kind: "existing" },
    { address: "missing@opensmtpd.test", kind: "missing" },
    { address: "full@opensmtpd.test", kind: "full" },
    { address: "greylisted@opensmtpd.test", kind: "greylisted" },
    { address: "vmail@users.opensmtpd.test", kind: "existing" },
    { address: "missing@users.opensmtpd.test", kind: "missing" },
    { address: "somebody@catchall.opensmtpd.test", kind: "catch_all" },
  ],
  files: (endpoint) => ({
    "/etc/smtpd.conf": config(endpoint),
    "/etc/aliases": "",
    "/etc/mailname": "mx.opensmtpd.test\n",
  }),
  start: `
mkdir -p /var/lib/opensmtpd/empty /var/spool/smtpd /var/mail
chmod 711 /var/spool/smtpd
chown vmail:vmail /var/mail
smtpd -d -f /etc/smtpd.conf </dev/null &
`,
};
