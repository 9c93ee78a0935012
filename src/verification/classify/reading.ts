import type { RcptOutcome } from "../../smtp/wire/outcome.ts";
import type { SmtpReply } from "../../smtp/wire/reply.ts";
import { type Classification, type ClassifyContext, classify } from "./classify.ts";
import type { SelfIdentity } from "./matchable-reply.ts";
import { redactReply, redactWholeReply } from "./redact.ts";

/**
 * Caches the readings of replies. Servers send the same reply a million times, except for the address in it: classifying a
 * reply takes 20 µs, finding its earlier classification one tenth of a µs. All caches here are of pure functions: the
 * results equal those of `classify` and `redactReply`.
 */

interface ReplyReading {
  stage: RcptOutcome["stage"];
  provider: string | null;
  self: SelfIdentity;
  ruling: Classification;
  /** The redacted reply for evidence, valid unless `lower` contains the local part by itself. */
  kept: string;
  lower: string;
  next: ReplyReading | null;
}

/** Longer replies are read each time. */
const CHARS = 512;
/**
 * Number of cached texts, the least recently used are evicted first; and of readings of one reply, by stage, provider and
 * route.
 */
const TEXTS = 2_000;
const READINGS = 16;

const ASCII = /^[\0-\x7f]*$/;
/** Addresses that any reader of a reply takes for one token, whatever the case. */
const PLAIN = /^[a-z0-9._+=-]{1,64}@[a-z0-9.-]{1,255}$/i;
const BEFORE = /[\s<([]$/;
const BEHIND = /^[\s>)\],;:]/;
/** Replaces the address. */
const MASK = "\0@";

/** Replies that the parser hands out again and again, by themselves. */
const byReply = new WeakMap<SmtpReply, ReplyReading>();
const byText = new Map<string, ReplyReading>();

/** Like `classify`. @param address the checked address, as in the command */
export function classifyFor(outcome: RcptOutcome, context: ClassifyContext, address: string): Classification {
  return outcome.kind === "reply"
    ? (readingOf(outcome, context, address)?.ruling ?? classify(outcome, context))
    : classify(outcome, context);
}

/** Like `redactReply`. @param address the checked address, as in the command */
export function redactedReplyFor(
  outcome: Extract<RcptOutcome, { kind: "reply" }>,
  context: ClassifyContext,
  address: string,
): string {
  const local = address.slice(0, address.lastIndexOf("@"));
  const reading = readingOf(outcome, context, address);
  if (reading === null || mayContainLocalPart(reading.lower, local))
    return redactReply(outcome.reply, local, context.self);
  return reading.kept;
}

/**
 * The common reading of a reply without an address, once `classifyFor` has read it. It is valid for all checked addresses,
 * except those whose local part `mayContainLocalPart` finds in `lower`: their `redactedReplyFor` differs. null: the reply
 * must be read each time.
 */
export function commonReading(
  { reply, stage }: Extract<RcptOutcome, { kind: "reply" }>,
  context: ClassifyContext,
): { readonly lower: string } | null {
  return fitting(byReply.get(reply), stage, context);
}

const [QUOTE, PLUS, DEL] = [0x22, 0x2b, 0x7f];

/**
 * False when no spelling of the local part stands in `text`, which is lower case and ASCII. Called for each answer. Most
 * texts are shorter than the local part: one look at each character shows that.
 */
export function mayContainLocalPart(text: string, local: string): boolean {
  let end = local.length;
  for (let i = 0; i < local.length; i++) {
    const code = local.charCodeAt(i);
    if (code > DEL || (code === QUOTE && i === 0)) return true;
    if (code === PLUS && end === local.length) end = i;
  }
  return end <= text.length && text.includes(local.slice(0, end).toLowerCase());
}

/** null: the reply must be read separately. */
function readingOf(
  outcome: Extract<RcptOutcome, { kind: "reply" }>,
  context: ClassifyContext,
  address: string,
): ReplyReading | null {
  const { reply, stage } = outcome;
  const known = fitting(byReply.get(reply), stage, context);
  if (known !== null) return known;
  const text = masked(reply, address, context.self);
  if (text === null) return null;
  const key = `${stage} ${reply.code} ${reply.enhanced} ${text}`;
  const reading = recalled(key, stage, context) ?? learn(key, outcome, context);
  // One that repeats no address is the same for all; one that is not frozen is long, or will hardly come again.
  if (reading !== null && Object.isFrozen(reply) && !text.includes("@")) attach(reply, reading);
  return reading;
}

/** Keeps frequent texts cached, even with many unique ones in between. */
function recalled(key: string, stage: RcptOutcome["stage"], context: ClassifyContext): ReplyReading | null {
  const first = byText.get(key);
  const reading = fitting(first, stage, context);
  if (first === undefined || reading === null) return null;
  byText.delete(key);
  byText.set(key, first);
  return reading;
}

function fitting(
  first: ReplyReading | undefined,
  stage: RcptOutcome["stage"],
  { provider, self }: ClassifyContext,
): ReplyReading | null {
  for (let reading = first ?? null; reading !== null; reading = reading.next)
    if (reading.provider === provider && reading.stage === stage && reading.self === self) return reading;
  return null;
}

function chained(reading: ReplyReading, others: ReplyReading | undefined): ReplyReading {
  let count = 0;
  for (let other = others ?? null; other !== null; other = other.next) count++;
  return { ...reading, next: count < READINGS ? (others ?? null) : null };
}

function attach(reply: SmtpReply, reading: ReplyReading): void {
  byReply.set(reply, chained(reading, byReply.get(reply)));
}

function learn(
  key: string,
  outcome: Extract<RcptOutcome, { kind: "reply" }>,
  context: ClassifyContext,
): ReplyReading | null {
  const { reply, stage } = outcome;
  const kept = redactWholeReply(reply, context.self);
  if (kept === null || !ASCII.test(kept)) return null;
  const { provider, self } = context;
  const ruling = Object.freeze(classify(outcome, context));
  const made = { stage, provider, self, ruling, kept, lower: kept.toLowerCase(), next: null };
  const reading = chained(made, byText.get(key));
  byText.delete(key);
  byText.set(key, reading);
  if (byText.size > TEXTS) for (const oldest of byText.keys()) return forget(oldest, reading);
  return reading;
}

function forget(key: string, reading: ReplyReading): ReplyReading {
  byText.delete(key);
  return reading;
}

/**
 * The reply's text with the address masked. null if another address in its place might be read differently: one of its
 * occurrences is not one plain token, another token has an `@`, or it contains a name of ours.
 */
function masked({ lines }: SmtpReply, address: string, self: SelfIdentity): string | null {
  const text = lines.length === 1 ? (lines[0] ?? "") : lines.join("\n");
  if (text.length > CHARS || !ASCII.test(text)) return null;
  if (!text.includes("@")) return text;
  if (!PLAIN.test(address) || namesUs(address.toLowerCase(), self)) return null;
  const parts = text.split(address);
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] ?? "";
    if (part.includes("@")) return null;
    if (i > 0 && part !== "" && !BEHIND.test(part)) return null;
    if (i > 0 && part === "" && i < parts.length - 1) return null;
    if (i < parts.length - 1 && part !== "" && !BEFORE.test(part)) return null;
  }
  return parts.join(MASK);
}

function namesUs(lower: string, { heloName, mailFrom, addresses }: SelfIdentity): boolean {
  if (lower.includes(heloName.toLowerCase())) return true;
  if (mailFrom !== undefined && lower.includes(mailFrom.toLowerCase())) return true;
  return addresses.some((own) => lower.includes(own.toLowerCase()));
}
