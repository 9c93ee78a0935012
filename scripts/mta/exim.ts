import { AT, config, ELSEWHERE } from "./exim-settings.ts";
import {
  countBy,
  EXISTING,
  KEEPERS,
  type Listener,
  type LogReading,
  type MailServer,
} from "./mail-server.ts";

const GREYLIST_S = 3;
const OTHER_SENDER = "listener@rcpt.test";
const greylistdConfig = `[timeouts]
retryMin = ${GREYLIST_S}
retryMax = 28800
expire = 5184000
[socket]
path = /var/run/greylistd/socket
mode = 0660
[data]
update = 600
statefile = /var/lib/greylistd/states
tripletfile = /var/lib/greylistd/triplets
savetriplets = true
singlecheck = false
singleupdate = false
`;
const at = (listener: Listener, local = EXISTING) => `${local}@${listener.domains[0]}`;

/** A process serves one session and logs with its number, and with the address it was met at. */
export function readEximLog(log: string, { ip }: Listener): LogReading {
  const lines = log.split("\n").filter((line) => line.includes(`I=[${ip}]`));
  const here = lines.join("\n");
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  const wornOut = count(/Too many failed recipients/);
  return {
    sessions: countBy(here, /\[(\d+)\].*SMTP connection from .* (?:closed by|lost|dropped)/).size,
    mostRejections: Math.max(0, ...countBy(here, /\[(\d+)\].* rejected RCPT /).values()),
    wornOut,
    limited: wornOut + count(/Connection from .* refused: too many|too many nonmail commands/i),
  };
}

export const exim: MailServer = {
  name: "exim",
  packages: ["exim4-daemon-light", "greylistd", "dash", "coreutils"],
  users: [
    { name: "mail", uid: 8, home: "/var/mail" },
    { name: "Debian-exim", uid: 101, home: "/var/spool/exim4", groups: ["greylist"] },
    { name: "greylist", uid: 102, home: "/var/lib/greylistd" },
  ],
  listeners: Object.values(AT),
  greylistMs: GREYLIST_S * 1_000,
  mailboxes: [
    { situation: "existing", kind: "existing", address: "existing@exim.test" },
    { situation: "missing", kind: "missing", address: "missing@exim.test" },
    { situation: "full", kind: "full", address: "full@exim.test" },
    { situation: "full, in other words", kind: "policy", address: "prohibited@exim.test" },
    { situation: "relay refused", kind: "policy", address: `somebody@${ELSEWHERE}` },
    { situation: "catch-all", kind: "catch_all", address: "somebody@catchall.exim.test" },
    {
      situation: "greylisted by greylistd",
      kind: "greylisted",
      address: "greylisted@exim.test",
      raw: { sender: OTHER_SENDER },
    },
    { situation: "blocked at connect", kind: "blocked", address: at(AT.connect) },
    { situation: "shut at connect", kind: "shut", address: at(AT.shut) },
    { situation: "DNSBL at connect", kind: "blocked", address: at(AT.listConnect), needsDns: true },
    { situation: "blocked at EHLO", kind: "blocked", address: at(AT.helo) },
    { situation: "blocked at MAIL", kind: "blocked", address: at(AT.mail) },
    { situation: "blocked sender at RCPT", kind: "blocked", address: at(AT.sender) },
    { situation: "blocked client at RCPT, no words", kind: "policy", address: at(AT.client) },
    { situation: "DNSBL at RCPT", kind: "blocked", address: at(AT.list), needsDns: true },
    { situation: "sender fails verification", kind: "blocked", address: at(AT.senderDomain) },
    { situation: "sender fails callout", kind: "blocked", address: at(AT.callout) },
    { situation: "null sender refused", kind: "blocked", address: at(AT.null), nullSender: true },
    {
      situation: "too many recipients an hour",
      kind: "rate_limited",
      address: at(AT.ratelimit),
      raw: { times: 2 },
    },
    { situation: "TLS required", kind: "existing", address: at(AT.tls), raw: { tls: true } },
    { situation: "SMTPUTF8", kind: "existing", address: "почта@exim.test" },
  ],
  bursts: [
    {
      situation: "wrong recipients in a session",
      limit: "wrong",
      domain: "exim-errors.test",
      missing: 60,
      existing: 20,
    },
    {
      situation: "transactions without a message",
      limit: "idle",
      domain: "exim-idle.test",
      missing: 20,
      existing: KEEPERS,
    },
    {
      situation: "3 connections a client",
      limit: "connections",
      domain: "exim-connections.test",
      missing: 60,
      existing: 20,
    },
  ],
  files: (port) => ({
    "/etc/exim4/exim4.conf": config(port),
    "/etc/greylistd/config": greylistdConfig,
  }),
  start: `
mkdir -p /run/exim4 /run/greylistd /var/spool/exim4 /var/log/exim4 /var/mail
chown Debian-exim:Debian-exim /run/exim4 /var/spool/exim4 /var/log/exim4
chown greylist:greylist /run/greylistd /var/lib/greylistd
for mailbox in full prohibited; do dd if=/dev/zero of=/var/mail/$mailbox bs=2048 count=1 2>/dev/null; done
chown -R mail:mail /var/mail
chroot --userspec=greylist:greylist / /usr/sbin/greylistd &
until [ -S /run/greylistd/socket ]; do sleep 0.05; done
exim4 -bdf &
`,
  read: readEximLog,
};
