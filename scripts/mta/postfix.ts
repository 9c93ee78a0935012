import { EXISTING, KEEPERS, type Listener, type LogReading, type MailServer } from "./mail-server.ts";
import { AT, ELSEWHERE, mainCf, masterCf } from "./postfix-settings.ts";

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

const GREYLIST_S = 3;
const at = (listener: Listener, local = EXISTING) => `${local}@${listener.domains[0]}`;
const OTHER_SENDER = "listener@rcpt.test";

/**
 * Each listener logs under its host's name:
 * `postfix/mx.postfix-errors.test/smtpd[7]: disconnect from unknown[127.0.0.1] ehlo=2 starttls=1 mail=8 rcpt=1/8 …`
 */
export function readPostfixLog(log: string, { host }: Listener): LogReading {
  const lines = log.split("\n").filter((line) => line.includes(`postfix/${host}/smtpd[`));
  const ended = lines.filter((line) => line.includes(": disconnect from "));
  const rejections = ended.map((line) => {
    const [, accepted, all] = / rcpt=(\d+)\/(\d+)/.exec(line) ?? [];
    return Number(all ?? 0) - Number(accepted ?? 0);
  });
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  const wornOut = count(/too many errors after/);
  return {
    sessions: ended.length,
    mostRejections: Math.max(0, ...rejections),
    wornOut,
    limited: wornOut + count(/Connection concurrency limit exceeded/),
  };
}

export const postfix: MailServer = {
  name: "postfix",
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
  listeners: Object.values(AT),
  greylistMs: GREYLIST_S * 1_000,
  mailboxes: [
    { situation: "existing", kind: "existing", address: "existing@postfix.test" },
    { situation: "missing", kind: "missing", address: "missing@postfix.test" },
    { situation: "missing, refused for now", kind: "temporary", address: at(AT.softly, "missing") },
    { situation: "full", kind: "full", address: "full@postfix.test" },
    { situation: "relay refused", kind: "policy", address: `somebody@${ELSEWHERE}` },
    { situation: "catch-all", kind: "catch_all", address: "somebody@catchall.postfix.test" },
    {
      situation: "greylisted by postgrey",
      kind: "greylisted",
      address: "greylisted@postfix.test",
      raw: { sender: OTHER_SENDER },
    },
    {
      situation: "greylisted by postscreen's tests",
      kind: "greylisted",
      address: at(AT.tests),
      raw: { localAddress: "127.0.12.200" },
    },
    {
      situation: "address verification under way",
      kind: "not_yet",
      address: at(AT.inProgress),
      raw: { recipient: at(AT.inProgress, "first") },
    },
    { situation: "address verification: existing", kind: "existing", address: at(AT.relay) },
    { situation: "address verification: missing", kind: "missing", address: at(AT.relay, "missing") },
    { situation: "blocked at connect", kind: "blocked", address: at(AT.connect) },
    {
      situation: "blocked by postscreen and DNSBL",
      kind: "blocked",
      address: at(AT.postscreen),
      needsDns: true,
    },
    { situation: "blocked at EHLO", kind: "blocked", address: at(AT.helo) },
    { situation: "blocked at MAIL", kind: "blocked", address: at(AT.mail) },
    { situation: "blocked client at RCPT", kind: "blocked", address: at(AT.client) },
    { situation: "blocked sender at RCPT", kind: "blocked", address: at(AT.sender) },
    { situation: "DNSBL at RCPT", kind: "blocked", address: at(AT.list), needsDns: true },
    { situation: "no reverse DNS", kind: "blocked", address: at(AT.reverse), needsDns: true },
    { situation: "sender's domain unknown", kind: "blocked", address: at(AT.senderDomain), needsDns: true },
    { situation: "null sender refused", kind: "blocked", address: at(AT.null), nullSender: true },
    {
      situation: "too many recipients a minute",
      kind: "rate_limited",
      address: at(AT.recipients),
      raw: { times: 2 },
    },
    { situation: "TLS required", kind: "existing", address: at(AT.tls), raw: { tls: true } },
    { situation: "TLS too old", kind: "existing", address: at(AT.oldTls) },
    { situation: "SMTPUTF8", kind: "existing", address: "почта@postfix.test" },
  ],
  bursts: [
    {
      situation: "wrong recipients in a session",
      limit: "wrong",
      domain: "postfix-errors.test",
      missing: 60,
      existing: 20,
    },
    {
      situation: "transactions without a message",
      limit: "idle",
      domain: "postfix-idle.test",
      missing: 20,
      existing: KEEPERS,
    },
    {
      situation: "3 connections a client",
      limit: "connections",
      domain: "postfix-connections.test",
      missing: 60,
      existing: 20,
    },
  ],
  files: (port) => ({
    "/etc/postfix/main.cf": mainCf(port),
    "/etc/postfix/master.cf": masterCf(port),
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
postgrey --delay=${GREYLIST_S} --unix=/var/spool/postfix/private/postgrey --dbdir=/var/lib/postgrey --user=postgrey --group=postgrey &
until [ -S /var/spool/postfix/private/postgrey ] && [ -S /var/spool/postfix/private/quota-status ]; do sleep 0.05; done
`,
  read: readPostfixLog,
};
