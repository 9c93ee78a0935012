import { type Action, DROP, OMIT, RESET, repeat, SILENCE, say, sayAndClose, sayBytes } from "./action.ts";
import type { Dialogue, Recipient } from "./profile.ts";

type Mailbox = (dialogue: Dialogue, recipient: Recipient) => Action;

const always =
  (action: Action): Mailbox =>
  () =>
    action;
export const ACCEPTED = say("250 2.1.5 Ok");
export const GREYLISTED = "450 4.2.0 Recipient address rejected: Greylisted, please try again in 300 seconds";
const MEGABYTE = 1_048_576;

/** Replies of servers that refuse the first attempt at an address and accept the next with 250. */
export const LATER: Readonly<Record<string, { reply: string; closes?: true }>> = {
  "later-try-again": { reply: "421 4.7.0 Try again later", closes: true },
  "later-callout": {
    reply: "450 4.1.1 Recipient address rejected: unverified address: Address verification in progress",
  },
  "later-local-problem": { reply: "451 Temporary local problem" },
  "later-system": { reply: "451 4.3.0 Mail server temporarily rejected message" },
  "later-not-accepting": { reply: "451 4.3.2 System not accepting network messages" },
  "later-no-answer": { reply: "451 4.4.1 No answer from host" },
  "later-resources": { reply: "450 4.7.0 Resources restricted" },
  "later-unavailable": { reply: "450 Requested mail action not taken: mailbox unavailable" },
  "later-closing": { reply: "421 Service not available, closing transmission channel", closes: true },
  "later-full": { reply: "452 4.2.2 Mailbox full, try later" },
  "later-full-wordless": { reply: "452 4.2.2 The recipient's mailbox is over quota" },
  "later-for-good": { reply: "554 5.7.1 Greylisted, please try again in 3 seconds" },
  "later-permanent": { reply: "550 Service unavailable, please try again later" },
};

const atFirst =
  ({ reply, closes }: { reply: string; closes?: true }): Mailbox =>
  (d, r) => {
    if (d.greylist.admits(`${r.local}@${r.domain}`, "first_only")) return ACCEPTED;
    return closes === true ? sayAndClose(reply) : say(reply);
  };

export function unknownUser(_: Dialogue, { local, domain }: Recipient): Action {
  return say(
    `550 5.1.1 <${local}@${domain}>: Recipient address rejected: User unknown in virtual mailbox table`,
  );
}

/**
 * Meaning of a local part on every host without a handler of its own. A local part matches the longest name that it
 * equals, or that it starts with before `-`, `+`, `.` or a digit: `exists17` and `exists-a` exist too. All others are
 * unknown users.
 */
export const MAILBOXES: Record<string, Mailbox> = {
  exists: always(ACCEPTED),
  postmaster: always(ACCEPTED),
  info: always(ACCEPTED),
  jürgen: always(ACCEPTED),
  unverified: always(say("252 2.1.5 Cannot VRFY user, but will accept message")),
  missing: unknownUser,
  disabled: always(say("550 5.2.1 The email account that you tried to reach is disabled")),
  full: always(say("452 4.2.2 The recipient's mailbox is over quota")),
  "full-hard": always(say("552 5.2.2 Mailbox full, quota exceeded")),
  greylisted: (d, r) =>
    d.greylist.admits(`${r.local}@${r.domain}`, "until_relent") ? ACCEPTED : say(GREYLISTED),
  "greylisted-once": (d, r) =>
    d.greylist.admits(`${r.local}@${r.domain}`, "first_only") ? ACCEPTED : say(GREYLISTED),
  "greylisted-briefly": (d, r) =>
    d.greylist.admits(`${r.local}@${r.domain}`, "first_only")
      ? ACCEPTED
      : say("450 4.2.0 Recipient address rejected: Greylisted, please try again in 5 seconds"),
  ...Object.fromEntries(Object.entries(LATER).map(([name, first]) => [name, atFirst(first)])),
  ratelimited: always(say("451 4.7.1 Too many recipients from your host, please try again later")),
  "ratelimited-421": always(sayAndClose("421 4.7.0 Too many messages received from your address, slow down")),
  tempfail: always(say("451 4.3.0 Temporary lookup failure")),
  storage: always(say("452 4.3.1 Insufficient system storage")),
  policy: always(say("550 5.7.1 Message rejected due to content policy restrictions")),
  "blocked-ip": (d) => say(`550 5.7.1 Access denied: ${d.clientAddress} has a poor reputation`),
  "blocked-helo": (d) => say(`550 5.7.1 <${d.heloName}>: Helo command rejected: Host not found`),
  "blocked-dnsbl": (d) =>
    say(`554 5.7.1 Service unavailable; Client host [${d.clientAddress}] blocked using zen.spamhaus.org`),
  tarpit: always(SILENCE),
  drop: always(DROP),
  reset: always(RESET),
  flood: always(repeat("550 5.1.1 ".padEnd(65_536, "x"), 10 * MEGABYTE)),
  endless: always(repeat("550-5.1.1 and another thing\r\n".repeat(512), Number.POSITIVE_INFINITY)),
  garbage: always(sayBytes(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x07, 0x0d, 0x0a]))),
  oddcode: always(say("999 5.1.1 no such code")),
  mixedcodes: always(say("250-2.1.5 Ok", "550 5.1.1 User unknown")),
  intermediate: always(say("354 go ahead")),
  contradicted: always(say("250 2.1.5 Ok", "550 5.1.1 User unknown")),
  "refused-twice": always(say("550 5.1.1 User unknown", "550 5.1.1 User unknown")),
  omitted: always(OMIT),
  multiline: always(
    say("550-5.1.1 The address you entered", "550-5.1.1 does not exist here.", "550 5.1.1 Sorry"),
  ),
  bare: always(sayBytes(Buffer.from("550\r\n"))),
};

const NAMES = Object.keys(MAILBOXES).sort((a, b) => b.length - a.length);

/** The mailbox a local part stands for, or undefined for an unknown user. */
export function findMailbox(local: string): Mailbox | undefined {
  const lower = local.toLowerCase();
  const name = NAMES.find(
    (candidate) =>
      lower === candidate || (lower.startsWith(candidate) && /^[-+.0-9]/.test(lower.slice(candidate.length))),
  );
  return name === undefined ? undefined : MAILBOXES[name];
}

export function answerRecipient(dialogue: Dialogue, recipient: Recipient): Action {
  return (findMailbox(recipient.local) ?? unknownUser)(dialogue, recipient);
}
