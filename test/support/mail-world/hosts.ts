import { DROP, drip, RESET, repeat, SILENCE, say, sayAndClose, sayBytes, sayLatin1 } from "./action.ts";
import { ACCEPTED, findMailbox, GREYLISTED, MAILBOXES, unknownUser } from "./mailboxes.ts";
import { DEFAULT_EXTENSIONS, type Handler, type HostProfile } from "./profile.ts";

const WITHOUT_PIPELINING = DEFAULT_EXTENSIONS.filter((keyword) => keyword !== "PIPELINING");
const ENDLESS = Number.POSITIVE_INFINITY;
const MEGABYTE = 1_048_576;

const acceptAll: Handler = () => ACCEPTED;

/** The named mailboxes are accepted, any other local part gets `handler`: a catch-all that a probe cannot confirm. */
const unlessNamed =
  (handler: Handler): Handler =>
  (dialogue, recipient) =>
    findMailbox(recipient.local) === undefined ? handler(dialogue, recipient) : null;

/** A customer's host at a provider: knows the users of its own domain alone; all others are unknown. */
const onlyFor =
  (domain: string): Handler =>
  (dialogue, recipient) =>
    recipient.domain === domain ? null : unknownUser(dialogue, recipient);

const inOtherWords =
  (missing: Handler): Handler =>
  (_, recipient) =>
    ["missing", "disabled", "full"].includes(recipient.local) || findMailbox(recipient.local) === undefined
      ? missing(_, recipient)
      : null;

/** Applies `handler` after `limit` refused recipients in a session. */
const afterRejections =
  (limit: number, handler: Handler): Handler =>
  (dialogue, recipient) =>
    dialogue.rejections >= limit ? handler(dialogue, recipient) : null;

/** Refused recipients before `error-limit.test` hangs up, as Postfix' smtpd_hard_error_limit. */
export const ERROR_LIMIT = 20;
/** Transactions before `busy.test` says 421. */
export const BUSY_AFTER = 3;
export const CONNECTION_LIMIT = 2;
/** Recipients over all sessions, since the last reset of its counters, before `patience.test` blocks us. */
export const PATIENCE = 50;

/**
 * Applies `handler` only where commands of further transactions are pipelined behind this recipient, beyond its own
 * RSET.
 */
export const ifPipelined =
  (handler: Handler): Handler =>
  (dialogue, recipient) =>
    dialogue.behind > 1 ? handler(dialogue, recipient) : null;

/** Every SMTP server of the world. `mx.NAME.test` serves the domain `NAME.test`; behaviours.ts says what to expect. */
export const HOSTS: HostProfile[] = [
  { name: "mx.plain.test" },
  /** Behaves as plain. A host of its own, so that a client that draws conclusions about a whole site does so here. */
  { name: "mx.blocked.test" },
  { name: "mx.limited.test" },
  { name: "mx.later.test" },
  /**
   * Used for nothing else, so that its 421 ends a session without earlier commands; otherwise a new session would ask again.
   */
  { name: "mx.closing.test" },
  { name: "mx.rude.test" },
  { name: "mx.catchall.test", on: { rcpt: acceptAll } },
  {
    name: "mx.catchall-tempfail.test",
    on: { rcpt: unlessNamed(() => say("451 4.3.0 Temporary lookup failure")) },
  },
  { name: "mx.catchall-drop.test", on: { rcpt: unlessNamed(() => DROP) } },
  {
    name: "mx.greylist.test",
    on: {
      rcpt: (d, r) => (d.greylist.admits(`${r.local}@${r.domain}`, "until_relent") ? null : say(GREYLISTED)),
    },
  },
  {
    name: "mx.dnsbl-connect.test",
    on: {
      greeting: (d) =>
        sayAndClose(
          `554 5.7.1 Service unavailable; Client host [${d.clientAddress}] blocked using zen.spamhaus.org`,
        ),
    },
  },
  {
    name: "mx.dnsbl-mail.test",
    on: {
      mail: (d) => say(`550 5.7.1 Mail from IP ${d.clientAddress} was rejected: listed at bl.spamcop.net`),
    },
  },
  {
    name: "mx.dnsbl-rcpt.test",
    on: {
      rcpt: (d, r) =>
        say(
          `554 5.7.1 <${r.local}@${r.domain}>: Recipient address rejected: [${d.clientAddress}] is listed at b.barracudacentral.org`,
        ),
    },
  },
  {
    name: "mx.helo-blocked.test",
    on: {
      ehlo: (d) => say(`550 5.7.1 <${d.heloName}>: Helo command rejected: Access denied`),
      helo: (d) => say(`550 5.7.1 <${d.heloName}>: Helo command rejected: Access denied`),
    },
  },
  { name: "mx.tarpit-connect.test", on: { greeting: () => SILENCE } },
  { name: "mx.tarpit-ehlo.test", on: { ehlo: () => SILENCE } },
  { name: "mx.tarpit-mail.test", on: { mail: () => SILENCE } },
  {
    name: "mx.slow-banner.test",
    on: { greeting: () => drip("220 mx.slow-banner.test ESMTP one byte at a time") },
  },
  { name: "mx.drop-connect.test", on: { greeting: () => DROP } },
  { name: "mx.reset-ehlo.test", on: { ehlo: () => RESET } },
  { name: "mx.drop-banner.test", on: { greeting: () => sayAndClose("220 mx.drop-banner.test ESMTP ready") } },
  {
    name: "mx.busy-connect.test",
    on: { greeting: () => sayAndClose("421 4.3.2 Service not available, closing transmission channel") },
  },
  {
    name: "mx.too-many.test",
    on: { greeting: () => sayAndClose("421 4.7.0 Too many connections from your host, try again later") },
  },
  { name: "mx.later-ehlo.test", on: { ehlo: () => sayAndClose("421 4.3.2 Try again later") } },
  { name: "mx.drop-mail.test", on: { mail: () => DROP } },
  { name: "mx.drop-rcpt.test", on: { rcpt: () => DROP } },
  {
    name: "mx.busy.test",
    on: {
      mail: (d) =>
        d.transactions >= BUSY_AFTER
          ? sayAndClose("421 4.3.2 mx.busy.test Service closing, come again")
          : null,
    },
  },
  {
    name: "mx.rate-mail.test",
    on: { mail: () => say("451 4.7.1 Too many messages from your host, please slow down") },
  },
  {
    name: "mx.goodbye.test",
    on: { rcpt: ifPipelined(() => sayAndClose("421 4.3.2 mx.goodbye.test Service closing, come again")) },
  },
  { name: "mx.hangup.test", on: { rcpt: ifPipelined(() => DROP) } },
  {
    name: "mx.patience.test",
    on: {
      rcpt: (d) =>
        d.ofHost.accepted + d.ofHost.rejected >= PATIENCE
          ? say(
              `554 5.7.1 Service unavailable; Client host [${d.clientAddress}] blocked using zen.spamhaus.org`,
            )
          : null,
    },
  },
  { name: "mx.lockstep.test", extensions: WITHOUT_PIPELINING },
  {
    name: "mx.helo-only.test",
    extensions: [],
    on: { ehlo: () => say("502 5.5.1 Command not implemented") },
  },
  { name: "mx.tls.test", starttls: "works" },
  { name: "mx.tls-required.test", starttls: "works", tlsRequired: true },
  { name: "mx.tls-broken.test", starttls: "garbage" },
  { name: "mx.tls-broken-required.test", starttls: "garbage", tlsRequired: true },
  { name: "mx.tls-refused.test", starttls: "refused" },
  { name: "mx.tls-drop.test", starttls: "drops" },
  { name: "mx.tls-silent.test", starttls: "silent" },
  { name: "mx.tls-injection.test", starttls: "injects" },
  {
    name: "mx.one-recipient.test",
    on: {
      rcpt: (d) => (d.recipients > 0 ? say("452 4.5.3 Recipients belong to multiple regions") : null),
    },
  },
  {
    name: "mx.error-limit.test",
    on: {
      rcpt: afterRejections(ERROR_LIMIT, () =>
        sayAndClose("421 4.7.0 mx.error-limit.test Error: too many errors"),
      ),
    },
  },
  { name: "mx.error-tarpit.test", on: { rcpt: afterRejections(ERROR_LIMIT / 2, () => SILENCE) } },
  { name: "mx.connection-limit.test", maxConnections: CONNECTION_LIMIT },
  {
    name: "mx.multiline.test",
    on: {
      greeting: () =>
        say("220-mx.multiline.test ESMTP", "220-Unauthorised use is prohibited.", "220 Welcome"),
      mail: () => say("250-2.1.0 Sender", "250 2.1.0 Ok"),
      rcpt: (_, r) =>
        findMailbox(r.local) === MAILBOXES.exists ? say("250-2.1.5 Yes,", "250 2.1.5 Ok") : null,
    },
  },
  {
    name: "mx.no-enhanced.test",
    extensions: ["PIPELINING", "SIZE 10485760"],
    on: {
      mail: () => say("250 OK"),
      rcpt: inOtherWords((_, r) =>
        r.local === "full"
          ? say("552 Requested mail action aborted: mailbox is full")
          : r.local === "disabled"
            ? say("550 This account has been disabled")
            : say("550 Unrouteable address"),
      ),
    },
  },
  {
    name: "mx.german.test",
    on: {
      rcpt: inOtherWords((_, r) =>
        say(`550 5.1.1 <${r.local}@${r.domain}>: Empfänger unbekannt, Postfach ungültig`),
      ),
    },
  },
  {
    name: "mx.french-latin1.test",
    on: { rcpt: inOtherWords(() => sayLatin1("550 5.1.1 Destinataire inconnu: boîte aux lettres fermée")) },
  },
  { name: "mx.flood-banner.test", on: { greeting: () => repeat("220 ".padEnd(65_536, "x"), 10 * MEGABYTE) } },
  { name: "mx.endless-ehlo.test", on: { ehlo: () => repeat("250-X-KEYWORD\r\n".repeat(512), ENDLESS) } },
  {
    name: "mx.garbage-banner.test",
    on: { greeting: () => sayBytes(Buffer.from("\u0000\u0016SSH-2.0-OpenSSH_9.2\r\n\u00ff\r\n", "latin1")) },
  },
  {
    name: "mx.double-banner.test",
    on: {
      greeting: () => say("220 mx.double-banner.test ESMTP ready", "220 mx.double-banner.test ESMTP ready"),
    },
  },
  {
    name: "mx.out-of-step.test",
    extensions: WITHOUT_PIPELINING,
    on: { mail: () => say("250 2.1.0 Ok", "250 2.1.5 Ok"), rcpt: unknownUser },
  },
  { name: "mx.utf8.test", extensions: [...DEFAULT_EXTENSIONS, "SMTPUTF8"] },
  { name: "mx-a.provider.test", on: { rcpt: onlyFor("alpha.test") } },
  { name: "mx-b.provider.test", on: { rcpt: onlyFor("beta.test") } },
  /** Must stay unused: spoofed DNS answers and forbidden addresses lead to it. */
  { name: "mx.trap.test", address: "127.0.0.1", on: { rcpt: acceptAll } },
];
