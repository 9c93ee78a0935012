import { hash as hashOnce } from "node:crypto";
import type { Evidence, SmtpEvidence } from "../check/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { areTimes, isEntry } from "./evidence-parts.ts";

/**
 * Entries of the cache as Redis has them: JSON of `CacheEntry`. Evidence of the addresses of a domain differs in little but
 * how long the server took. So what entries have in common is written and read once, which takes a fraction of the time of
 * JSON.stringify and JSON.parse, and those that are read share their parts in memory too. No line end is in it.
 */

/** Of texts, and of what they were read as. Emptied when full: a bound, not a policy. */
const REMEMBERED = 1_024;

const written = new WeakMap<object, string>();

/** Parts are shared by many rows, and never changed. */
function jsonOf(part: object): string {
  const known = written.get(part);
  if (known !== undefined) return known;
  const json = JSON.stringify(part);
  written.set(part, json);
  return json;
}

/** What stands for itself in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

export function textOf(value: string | null): string {
  return value !== null && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
}

/** All of it: who adds to the evidence adds here. */
const SMTP_MEMBERS = {
  ...{
    class: true,
    fault: true,
    stage: true,
    code: true,
    enhancedCode: true,
    reply: true,
    rule: true,
    mxHost: true,
  },
  ...{ path: true, trusted: true, retryAfterS: true, latencyMs: true, tls: true, catchAll: true },
} satisfies Record<keyof SmtpEvidence, true>;
const MEMBERS = Object.keys(SMTP_MEMBERS).length;

/** Evidence that another build wrote may have more. */
function hasMembersAlone(smtp: SmtpEvidence): boolean {
  let members = 0;
  for (const _ in smtp) members += 1;
  return members === MEMBERS;
}

/** Evidence as text, but for how long the server took: that stands between the two. */
export interface EvidenceShape {
  readonly start: string;
  readonly end: string;
  /** What the server said to the one it was made of: others may differ in that too. null: nobody was asked. */
  readonly reply: string | null;
}

/** What JSON.stringify makes of it, cut where the latency stands; null: it has other members, and is not cut. */
function cutSmtp(smtp: SmtpEvidence): Omit<EvidenceShape, "reply"> | null {
  if (!hasMembersAlone(smtp)) return null;
  const { class: end, fault, stage, code, enhancedCode, reply, rule, mxHost } = smtp;
  const { path, trusted, retryAfterS, tls, catchAll } = smtp;
  const outcome = `"class":"${end}","fault":${textOf(fault)},"stage":"${stage}","code":${code}`;
  const words = `"enhancedCode":${textOf(enhancedCode)},"reply":${textOf(reply)},"rule":${textOf(rule)}`;
  const way = `"mxHost":${textOf(mxHost)},"path":${textOf(path)},"trusted":${trusted},"retryAfterS":${retryAfterS}`;
  return {
    start: `{${outcome},${words},${way},"latencyMs":`,
    end: `,"tls":${tls},"catchAll":"${catchAll}"}`,
  };
}

/** Of this evidence alone; `shapeOf` may have one that others made, with a reply of theirs. */
export function makeShape({ v, mx, disposable, role, freeProvider, domain, smtp }: Evidence): EvidenceShape {
  const signals = domain === undefined ? "" : `,"domain":${jsonOf(domain)}`;
  const known = `"mx":${jsonOf(mx)},"disposable":${jsonOf(disposable)},"role":${JSON.stringify(role)}`;
  const start = `{"v":${v},${known},"freeProvider":${freeProvider}${signals},"smtp":`;
  const cut = smtp === null ? null : cutSmtp(smtp);
  const reply = smtp === null ? null : smtp.reply;
  if (cut === null) return { start: `${start}${JSON.stringify(smtp)}}`, end: "", reply };
  return { start: start + cut.start, end: `${cut.end}}`, reply };
}

/** Of a domain; the oldest goes. */
const SHAPES_KEPT = 8;
/** What else was said, the last few times: what comes again has a shape of its own, what has an id in it never does. */
const SAYINGS_KEPT = 4;

interface KnownShape {
  /** Evidence that has it. */
  readonly like: Evidence;
  /** null: nobody has asked for its text. */
  shape: EvidenceShape | null;
  readonly otherSayings: string[];
}

/** Shapes by a part that a domain's evidence has in common. */
const shapes = new WeakMap<Evidence["mx"], KnownShape[]>();

/**
 * Rows of a list mostly have the shape of the row before: to compare is several times as fast as to write it anew.
 * @returns a shape that the evidence has but for the latency and maybe the reply
 */
export function shapeOf(evidence: Evidence): EvidenceShape {
  const known = knownShapeOf(evidence);
  known.shape ??= makeShape(known.like);
  return known.shape;
}

function knownShapeOf(evidence: Evidence): KnownShape {
  const known = shapes.get(evidence.mx);
  const found = known === undefined ? null : find(known, evidence);
  if (found !== null) return found;
  const made = { like: evidence, shape: null, otherSayings: [] };
  // What is not cut has a latency in it.
  if (!isCut(evidence)) return made;
  if (known === undefined) shapes.set(evidence.mx, [made]);
  else if (known.push(made) > SHAPES_KEPT) known.shift();
  return made;
}

function find(known: readonly KnownShape[], evidence: Evidence): KnownShape | null {
  let near: KnownShape | null = null;
  for (const one of known) {
    if (!isOneShape(one.like, evidence)) continue;
    if (saysSame(one.like, evidence)) return one;
    near ??= one;
  }
  if (near === null || evidence.smtp === null) return null;
  const { otherSayings } = near;
  const { reply } = evidence.smtp;
  if (otherSayings.includes(reply)) return null;
  if (otherSayings.push(reply) > SAYINGS_KEPT) otherSayings.shift();
  return near;
}

function isCut({ smtp }: Evidence): boolean {
  return smtp === null || hasMembersAlone(smtp);
}

/** Of a part as above; the oldest goes. */
const LIKES_KEPT = 8;
/** A domain with one address has one, without a list round it: of very many domains V8's collector would go through all lists. */
const likes = new WeakMap<Evidence["mx"], Evidence | Evidence[]>();

/**
 * Evidence that differs from this in the latency at most: one and the same for many, where there are any. It asks no shape:
 * those learn by what they are asked how entries are written.
 */
export function likeOf(evidence: Evidence): Evidence {
  const { mx } = evidence;
  const known = likes.get(mx);
  if (known === undefined) {
    if (isCut(evidence)) likes.set(mx, evidence);
    return evidence;
  }
  if (!Array.isArray(known)) {
    if (isLike(known, evidence)) return known;
    if (isCut(evidence)) likes.set(mx, [known, evidence]);
    return evidence;
  }
  for (const one of known) if (isLike(one, evidence)) return one;
  if (isCut(evidence) && known.push(evidence) > LIKES_KEPT) known.shift();
  return evidence;
}

function isLike(a: Evidence, b: Evidence): boolean {
  return isOneShape(a, b) && saysSame(a, b);
}

function saysSame({ smtp: one }: Evidence, { smtp: other }: Evidence): boolean {
  return one === null || other === null || one.reply === other.reply;
}

/** Whether what was said is the shape's. */
export function saysThat({ reply }: EvidenceShape, { smtp }: Evidence): boolean {
  return smtp === null || smtp.reply === reply;
}

/** Whether they differ in the latency and the reply alone. */
function isOneShape(a: Evidence, b: Evidence): boolean {
  if (a === b) return true;
  if (a.mx !== b.mx || a.disposable !== b.disposable || a.domain !== b.domain || a.v !== b.v) return false;
  if (a.role !== b.role || a.freeProvider !== b.freeProvider) return false;
  if (a.smtp === null || b.smtp === null) return a.smtp === b.smtp;
  return isOneProbe(a.smtp, b.smtp) && hasMembersAlone(b.smtp);
}

/** Field by field: a loop over their names costs five times as much. Those that differ most come first. */
function isOneProbe(a: SmtpEvidence, b: SmtpEvidence): boolean {
  return (
    a.class === b.class &&
    a.catchAll === b.catchAll &&
    a.code === b.code &&
    a.enhancedCode === b.enhancedCode &&
    a.rule === b.rule &&
    a.fault === b.fault &&
    a.stage === b.stage &&
    a.mxHost === b.mxHost &&
    a.path === b.path &&
    a.trusted === b.trusted &&
    a.retryAfterS === b.retryAfterS &&
    a.tls === b.tls
  );
}

/** What stands between the parts of its shape. */
function latencyText({ smtp }: Evidence): string {
  return smtp === null ? "" : String(smtp.latencyMs);
}

export function encodeEntry(entry: CacheEntry): string {
  return entryText(entry, shapeOf(entry.evidence));
}

/** `encodeEntry`, by who knows the shape. */
export function entryText({ evidence, storedAt, ttlS }: CacheEntry, shape: EvidenceShape): string {
  const { start, end } = saysThat(shape, evidence) ? shape : makeShape(evidence);
  const text = start + (end === "" ? "" : latencyText(evidence)) + end;
  return `{"evidence":${text},"storedAt":${storedAt},"ttlS":${ttlS}}`;
}

const LATENCY = '"latencyMs":';
const TIMES = '},"storedAt":';
const TIMES_OF = /^\},"storedAt":(\d+),"ttlS":(\d+)\}$/;

/** Evidence by its text without the latency. */
const read = new Map<string, Evidence>();

interface Cut {
  /** The text of the evidence without its latency. */
  shape: string;
  latencyMs: number | null;
  storedAt: number;
  ttlS: number;
}

/** null: it is not written as `encodeEntry` does. A quote within a string is escaped, so that members are told by their names. */
function cut(text: string): Cut | null {
  const timesAt = text.lastIndexOf(TIMES);
  const times = timesAt < 0 ? null : TIMES_OF.exec(text.slice(timesAt));
  if (times === null) return null;
  const since = { storedAt: Number(times[1]), ttlS: Number(times[2]) };
  if (!areTimes(since)) return null;
  const latencyAt = text.indexOf(LATENCY);
  if (latencyAt < 0) return { shape: text.slice(0, timesAt), latencyMs: null, ...since };
  const from = latencyAt + LATENCY.length;
  const to = text.indexOf(",", from);
  if (to <= from || to > timesAt) return null;
  const latencyMs = Number(text.slice(from, to));
  if (!Number.isFinite(latencyMs)) return null;
  return { shape: `${text.slice(0, from)} ${text.slice(to, timesAt)}`, latencyMs, ...since };
}

/** The same, answered after another time, and maybe in other words. */
export function answeredSo(
  evidence: Evidence,
  latencyMs: number | null,
  reply = evidence.smtp?.reply ?? "",
): Evidence {
  const { smtp } = evidence;
  if (latencyMs === null || smtp === null) return evidence;
  return { ...evidence, smtp: { ...smtp, latencyMs, reply } };
}

/**
 * undefined for what another version wrote, or nobody of ours, and for what is damaged: whoever reads an entry may rely on all
 * its parts.
 */
export function decodeEntry(text: string): CacheEntry | undefined {
  const parts = cut(text);
  const known = parts === null ? undefined : read.get(parts.shape);
  if (parts !== null && known !== undefined) {
    const { latencyMs, storedAt, ttlS } = parts;
    return { evidence: answeredSo(known, latencyMs), storedAt, ttlS };
  }
  try {
    const entry: unknown = JSON.parse(text);
    if (!isEntry(entry)) return undefined;
    if (parts !== null) {
      if (read.size >= REMEMBERED) read.clear();
      read.set(parts.shape, entry.evidence);
    }
    return entry;
  } catch {
    return undefined;
  }
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** By the code of a base64url letter: the one of its first two bits alone. */
const LAST = Array.from({ length: 128 }, (_, code) => {
  const value = BASE64URL.indexOf(String.fromCharCode(code));
  return value < 0 ? "" : (BASE64URL[value & 0x30] as string);
});

/** The first 128 bits of SHA-256, as base64url. Cut out of the text of all of it, without a Buffer in between. */
export function hash128(text: string): string {
  const digest = hashOnce("sha256", text, "base64url");
  return digest.slice(0, 21) + (LAST[digest.charCodeAt(21)] as string);
}
