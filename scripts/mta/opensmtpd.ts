import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  countBy,
  EXISTING,
  KEEPERS,
  keepers,
  type Listener,
  type LogReading,
  listener,
  type MailServer,
} from "./mail-server.ts";

const NET = "127.0.14";
const GREYLIST_S = 3;
const OTHER_SENDER = "listener@rcpt.test";

const AT = {
  main: listener(NET, 2, "opensmtpd", ["catchall.opensmtpd.test", "users.opensmtpd.test"]),
  connect: listener(NET, 3, "opensmtpd-connect"),
  helo: listener(NET, 4, "opensmtpd-helo"),
  mail: listener(NET, 5, "opensmtpd-mail"),
  rcpt: listener(NET, 6, "opensmtpd-rcpt"),
  reverse: listener(NET, 7, "opensmtpd-reverse"),
  null: listener(NET, 8, "opensmtpd-null"),
  tls: listener(NET, 9, "opensmtpd-tls"),
  errors: listener(NET, 10, "opensmtpd-errors"),
  idle: listener(NET, 11, "opensmtpd-idle"),
} as const satisfies Record<string, Listener>;

const at = (listener: Listener, local = EXISTING) => `${local}@${listener.domains[0]}`;

const mailboxes = [
  "existing@opensmtpd.test",
  "full@opensmtpd.test",
  "greylisted@opensmtpd.test",
  "@catchall.opensmtpd.test",
  ...Object.values(AT).map((own) => at(own)),
  ...[AT.errors, AT.idle].flatMap((own) => keepers(KEEPERS).map((local) => at(own, local))),
]
  .map((address) => `"${address}" = vmail`)
  .join(", ");

const virtualDomains = Object.values(AT)
  .flatMap(({ domains }) => domains)
  .filter((domain) => domain !== "users.opensmtpd.test")
  .map((domain) => `"${domain}"`)
  .join(", ");

/** The filter of each listener, and its further options. */
const LISTEN: Record<keyof typeof AT, string> = {
  main: 'filter { "quota", "greylist" }',
  connect: 'filter "connect"',
  helo: 'filter { "helo", "helo-too" }',
  mail: 'filter "sender"',
  rcpt: 'filter "client"',
  reverse: 'filter "reverse"',
  null: 'filter "null"',
  tls: 'tls pki "opensmtpd"',
  errors: "",
  idle: "",
};

/**
 * Virtual mailboxes, and one domain of system users, which refuse a missing mailbox in different words. Neither a quota
 * nor greylisting is built in: both are filters, the first with the words of RFC 3463, the second with those of the
 * usual greylisting milters. The other filters are built in; their words are the administrator's. Debian 12's OpenSMTPD
 * offers STARTTLS and then breaks off the handshake: the service must fall back to clear text.
 */
const config = (port: number) => `pki "opensmtpd" cert "/etc/cert.pem"
pki "opensmtpd" key "/etc/key.pem"
table full { "full@opensmtpd.test" }
table us { "127.0.0.0/8" }
table ourname { "probe.rcpt.test" }
table oursender { "@rcpt.test" }
table anything { ".+" }
table mailboxes { ${mailboxes} }
filter "quota" phase rcpt-to match rcpt-to <full> reject "552 5.2.2 Mailbox full"
filter "greylist" proc-exec "/usr/bin/perl /run/greylist.pl ${GREYLIST_S} greylisted@opensmtpd.test"
filter "connect" phase connect match src <us> disconnect "550 5.7.1 Your host is not welcome here"
filter "helo" phase ehlo match helo <ourname> reject "550 5.7.1 Bad HELO name"
filter "helo-too" phase helo match helo <ourname> reject "550 5.7.1 Bad HELO name"
filter "sender" phase mail-from match mail-from <oursender> reject "550 5.7.1 Sender rejected"
filter "client" phase rcpt-to match src <us> reject "550 5.7.1 Your host is blocked, see http://list.test/127.0.0.1"
filter "reverse" phase connect match !rdns disconnect "550 5.7.25 No reverse DNS"
filter "null" phase mail-from match ! mail-from regex <anything> reject "550 5.7.1 Empty sender refused"
${Object.entries(LISTEN)
  .map(
    ([name, more]) =>
      `listen on ${AT[name as keyof typeof AT].ip} port ${port} hostname ${AT[name as keyof typeof AT].host} ${more}`,
  )
  .join("\n")}
action "users" maildir
action "virtual" maildir "/var/mail/%{rcpt}" virtual <mailboxes>
match from any for domain "users.opensmtpd.test" action "users"
match from any for domain { ${virtualDomains} } action "virtual"
`;

/** Each line of a session begins with its number; only the first says where it came in, by the host's name. */
export function readOpensmtpdLog(log: string): LogReading {
  const rejections = countBy(log, /([0-9a-f]{16}) smtp failed-command command="RCPT TO/);
  const count = (pattern: RegExp) => log.split("\n").filter((line) => pattern.test(line)).length;
  const wornOut = count(/Too many consecutive errors/);
  return {
    sessions: countBy(log, /([0-9a-f]{16}) smtp connected/).size,
    mostRejections: Math.max(0, ...rejections.values()),
    wornOut,
    limited: wornOut + count(/Too many messages sent/),
  };
}

export const opensmtpd: MailServer = {
  name: "opensmtpd",
  packages: ["opensmtpd", "openssl", "dash", "coreutils"],
  users: [
    { name: "opensmtpd", uid: 101, home: "/var/lib/opensmtpd/empty" },
    { name: "opensmtpq", uid: 102, home: "/var/lib/opensmtpd/empty" },
    { name: "vmail", uid: 103, home: "/var/mail" },
  ],
  listeners: Object.values(AT),
  greylistMs: GREYLIST_S * 1_000,
  mailboxes: [
    { situation: "existing", kind: "existing", address: "existing@opensmtpd.test" },
    { situation: "missing", kind: "missing", address: "missing@opensmtpd.test" },
    { situation: "existing user", kind: "existing", address: "vmail@users.opensmtpd.test" },
    { situation: "missing user", kind: "missing", address: "missing@users.opensmtpd.test" },
    { situation: "full", kind: "full", address: "full@opensmtpd.test" },
    { situation: "catch-all", kind: "catch_all", address: "somebody@catchall.opensmtpd.test" },
    {
      situation: "greylisted by a filter",
      kind: "greylisted",
      address: "greylisted@opensmtpd.test",
      raw: { sender: OTHER_SENDER },
    },
    { situation: "blocked at connect", kind: "blocked", address: at(AT.connect) },
    { situation: "no reverse DNS", kind: "blocked", address: at(AT.reverse), needsDns: true },
    { situation: "blocked at EHLO", kind: "blocked", address: at(AT.helo) },
    { situation: "blocked at MAIL", kind: "blocked", address: at(AT.mail) },
    { situation: "blocked client at RCPT", kind: "blocked", address: at(AT.rcpt) },
    { situation: "null sender refused", kind: "blocked", address: at(AT.null), nullSender: true },
    { situation: "TLS offered", kind: "existing", address: at(AT.tls) },
    { situation: "no SMTPUTF8", kind: "no_smtputf8", address: "почта@opensmtpd.test" },
  ],
  bursts: [
    {
      situation: "wrong recipients in a session",
      limit: "wrong",
      domain: "opensmtpd-errors.test",
      missing: 60,
      existing: 20,
    },
    {
      situation: "transactions without a message",
      limit: "idle",
      domain: "opensmtpd-idle.test",
      missing: 20,
      existing: KEEPERS,
    },
  ],
  files: (port) => ({
    "/etc/smtpd.conf": config(port),
    "/etc/aliases": "",
    "/etc/mailname": "mx.opensmtpd.test\n",
    "/run/greylist.pl": readFileSync(join(import.meta.dirname, "greylist.pl"), "utf8"),
  }),
  start: `
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=mx.opensmtpd.test \\
  -keyout /etc/key.pem -out /etc/cert.pem 2>/dev/null
chmod 600 /etc/key.pem
mkdir -p /var/lib/opensmtpd/empty /var/spool/smtpd /var/mail
chmod 711 /var/spool/smtpd
chown vmail:vmail /var/mail
smtpd -d -f /etc/smtpd.conf </dev/null &
`,
  read: readOpensmtpdLog,
};
