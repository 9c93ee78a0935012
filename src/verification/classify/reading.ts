import type { RcptOutcome } from "../../smtp/wire/outcome.ts";
import type { SmtpReply } from "../../smtp/wire/reply.ts";
import { type Classification, type ClassifyContext, classify } from "./classify.ts";
import type { SelfIdentity } from "./matchable-reply.ts";
import { redactReply, redactWholeReply } from "./redact.ts";

/**
 * What was made of replies before. Servers say the same thing a million times, but for the address they were asked about:
 * to classify a reply takes 20 µs, to find what it was classified as one tenth of a µs. All here is memory of pure
 * functions: it tells what `classify` and `redactReply` would.
 */

interface ReplyReading {
  stage: RcptOutcome["stage"];
  provider: string | null;
  self: SelfIdentity;
  ruling: Classification;
  /** What evidence keeps of it, unless the local part stands in `lower` by itself. */
  kept: string;
  lower: string;
  next: ReplyReading | null;
}

/** Longer replies are read each time. */
const CHARS = 512;
/** Texts that are remembered, the longest unheard go first; and ways to read one reply, by stage, provider and way out. */
const TEXTS = 2_000;
const READINGS = 16;

const ASCII = /^[\0-\x7f]*$/;
/** Addresses that any reader of a reply takes for one token, whatever the case. */
const PLAIN = /^[a-z0-9._+=-]{1,64}@[a-z0-9.-]{1,255}$/i;
const BEFORE = /[\s<([]$/;
const BEHIND = /^[\s>)\],;:]/;
/** Stands for the address. */
const MASK = "\0@";

/** Replies that the parser hands out again and again, by themselves. */
const byReply = new WeakMap<SmtpReply, ReplyReading>();
const byText = new Map<string, ReplyReading>();

/** As `classify`. @param address the one that was asked about, as in the command */
export function classifyFor(outcome: RcptOutcome, context: ClassifyContext, address: string): Classification {
  return outcome.kind === "reply"
    ? (readingOf(outcome, context, address)?.ruling ?? classify(outcome, context))
    : classify(outcome, context);
}

/** As `redactReply`. @param address the one that was asked about, as in the command */
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
 * What a reply without an address was read as, once `classifyFor` has read it: the same for all addresses asked about, but
 * for those whose local part `mayContainLocalPart` finds in `lower`, whose `redactedReplyFor` is another. null: it is to be
 * read each time.
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

/** null: it is to be read by itself. */
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

/** What all say stays, however many say something of their own in between. */
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
 * The reply's text with the address masked; null where another address in its place might be read differently: it is not
 * one plain token each time that it stands there, something else has an `@`, or a name of ours is in it.
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
