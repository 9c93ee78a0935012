import { EXISTING, KEEPERS, keepers, type Listener, listener } from "./mail-server.ts";
import { LIST } from "./names.ts";

const NET = "127.0.12";

/** A domain that leads here and is not served. */
export const ELSEWHERE = "elsewhere.postfix.test";

/**
 * The listeners, named by their purpose. `connect`, `helo` and `mail` refuse at that command; `client` and `sender` at RCPT,
 * to which Postfix delays refusals by default.
 */
export const AT = {
  main: listener(NET, 2, "postfix", ["catchall.postfix.test", ELSEWHERE]),
  connect: listener(NET, 3, "postfix-connect"),
  helo: listener(NET, 4, "postfix-helo"),
  mail: listener(NET, 5, "postfix-mail"),
  client: listener(NET, 6, "postfix-client"),
  sender: listener(NET, 7, "postfix-sender"),
  list: listener(NET, 8, "postfix-list"),
  postscreen: listener(NET, 9, "postfix-postscreen"),
  reverse: listener(NET, 10, "postfix-reverse"),
  senderDomain: listener(NET, 11, "postfix-senderdomain"),
  null: listener(NET, 12, "postfix-null"),
  tls: listener(NET, 13, "postfix-tls"),
  oldTls: listener(NET, 14, "postfix-oldtls"),
  errors: listener(NET, 15, "postfix-errors"),
  connections: listener(NET, 16, "postfix-connections"),
  recipients: listener(NET, 17, "postfix-recipients"),
  softly: listener(NET, 18, "postfix-softly"),
  relay: listener(NET, 19, "postfix-relay"),
  inProgress: listener(NET, 20, "postfix-inprogress"),
  backend: listener(NET, 21, "postfix-backend"),
  tests: listener(NET, 22, "postfix-tests"),
  idle: listener(NET, 23, "postfix-idle"),
} as const satisfies Record<string, Listener>;

type At = keyof typeof AT;
const BURSTS: readonly At[] = ["errors", "idle", "connections"];

/** Mailboxes of the listeners' own domains; all have one that exists. */
const mailboxes = (Object.keys(AT) as At[]).flatMap((at) => {
  const [domain] = AT[at].domains;
  const locals = BURSTS.includes(at) ? keepers(KEEPERS) : [EXISTING];
  return locals.map((local) => `  { ${local}@${domain} = everyone/ }`);
});

/**
 * An Internet host for virtual mailboxes. A full mailbox is found by Dovecot's quota-status policy service, which
 * measures it; the greylisted one asks postgrey, as its documentation shows. The relaying listener asks the next host
 * whether the recipient exists (`reject_unverified_recipient`).
 *
 * `in_flow_delay` is off. By default, from the hundredth accepted recipient on, each waits 1 s until the queue manager
 * has work. On a server with mail it has; ours has none.
 */
export const mainCf = (port: number) => `compatibility_level = 3.6
myhostname = mx.postfix.test
mydestination =
mynetworks =
alias_maps =
inet_interfaces = loopback-only
inet_protocols = ipv4
smtpd_tls_security_level = may
smtpd_tls_loglevel = 1
smtpd_tls_cert_file = /etc/postfix/cert.pem
smtpd_tls_key_file = /etc/postfix/key.pem
virtual_mailbox_domains = ${virtualDomains().join(", ")}
virtual_mailbox_base = /var/mail
virtual_mailbox_maps = inline:{
  { existing@postfix.test = existing/ }
  { почта@postfix.test = existing/ }
  { full@postfix.test = full/ }
  { greylisted@postfix.test = greylisted/ }
  { @catchall.postfix.test = everyone/ }
${mailboxes.join("\n")}
  }
relay_domains = ${[...AT.relay.domains, ...AT.inProgress.domains].join(", ")}
transport_maps = inline:{
${[...AT.relay.domains, ...AT.inProgress.domains].map((domain) => `  { ${domain} = smtp:[${AT.backend.ip}]:${port} }`).join("\n")}
  }
address_verify_map =
in_flow_delay = 0s
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
postscreen_greet_wait = 1s
`;

function virtualDomains(): string[] {
  const relayed: readonly At[] = ["relay", "inProgress", "backend"];
  return (Object.keys(AT) as At[])
    .filter((at) => !relayed.includes(at))
    .flatMap((at) => AT[at].domains)
    .filter((domain) => domain !== ELSEWHERE);
}

/** Settings of each listener alone. A refusal is sent at once where `smtpd_delay_reject` is off, else at RCPT. */
const OWN: Record<Exclude<At, "postscreen" | "tests">, readonly string[]> = {
  main: [],
  connect: ["smtpd_delay_reject = no", "smtpd_client_restrictions = reject"],
  helo: [
    "smtpd_delay_reject = no",
    "smtpd_helo_restrictions = check_helo_access inline:{ probe.rcpt.test=REJECT }",
  ],
  mail: [
    "smtpd_delay_reject = no",
    "smtpd_sender_restrictions = check_sender_access inline:{ rcpt.test=REJECT }",
  ],
  client: ["smtpd_client_restrictions = reject"],
  sender: ["smtpd_sender_restrictions = check_sender_access inline:{ rcpt.test=REJECT }"],
  list: [`smtpd_client_restrictions = reject_rbl_client ${LIST}`],
  reverse: ["smtpd_client_restrictions = reject_unknown_client_hostname"],
  senderDomain: ["smtpd_sender_restrictions = reject_unknown_sender_domain"],
  null: ["smtpd_sender_restrictions = check_sender_access inline:{ <>=REJECT }"],
  tls: ["smtpd_tls_security_level = encrypt"],
  // Older than Node's TLS supports: the handshake fails, and clear text is allowed.
  oldTls: ["smtpd_tls_protocols = TLSv1", "smtpd_tls_mandatory_protocols = TLSv1"],
  errors: [],
  idle: [],
  connections: ["smtpd_client_connection_count_limit = 3"],
  recipients: ["smtpd_client_recipient_rate_limit = 1"],
  softly: ["unknown_virtual_mailbox_reject_code = 450"],
  relay: [
    "smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient",
    "unverified_recipient_reject_code = 550",
    "address_verify_poll_count = 10",
    "address_verify_poll_delay = 1s",
  ],
  inProgress: [
    "smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient",
    "address_verify_poll_count = 1",
  ],
  backend: [
    `relay_recipient_maps = inline:{ ${[...AT.relay.domains, ...AT.inProgress.domains].map((domain) => `{ ${EXISTING}@${domain} = x }`).join(" ")} }`,
    "smtpd_tls_security_level = none",
  ],
};

const options = (settings: readonly string[]) => settings.map((setting) => `\n  -o { ${setting} }`).join("");

/**
 * The services that a dialogue up to RCPT needs, and those of address verification; none of them in a chroot, since the
 * whole server is in one.
 */
export function masterCf(port: number): string {
  const listeners = Object.entries(OWN).map(
    ([at, settings]) =>
      `${AT[at as At].ip}:${port} inet n - n - - smtpd${options([`syslog_name = postfix/${AT[at as At].host}`, ...settings])}`,
  );
  // postscreen does not wait longer than this for the list's answer.
  const list = [
    `postscreen_dnsbl_sites = ${LIST}`,
    "postscreen_dnsbl_action = drop",
    "postscreen_cache_map =",
    "postscreen_greet_wait = 4s",
  ];
  const tests = ["postscreen_bare_newline_enable = yes", "postscreen_bare_newline_action = enforce"];
  return `${listeners.join("\n")}
${AT.postscreen.ip}:${port} inet n - n - 1 postscreen${options(list)}
${AT.tests.ip}:${port} inet n - n - 1 postscreen${options(tests)}
smtpd pass - - n - - smtpd
dnsblog unix - - n - 0 dnsblog
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
tlsmgr unix - - n 1000? 1 tlsmgr
tlsproxy unix - - n - 0 tlsproxy
anvil unix - - n - 1 anvil
`;
}
