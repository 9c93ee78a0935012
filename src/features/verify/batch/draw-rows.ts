import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { DomainName, nextMemoNumber } from "../../../verification/address/domain.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import { normalizedEmail } from "../../../verification/mailbox/normal-form.ts";
import { isUncharged } from "../../../verification/verdict/verdict.ts";
import type { AddressQuestion, DomainStanding } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import type { Examiner } from "../answer/examine.ts";
import type { VerificationResult } from "../answer/verification-result.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import {
  type LocalPartFacts,
  localPartFactsOf,
  matchesTemplate,
  type TemplateTraits,
  templateKeyOf,
} from "./template-match.ts";

/**
 * What the results of rows have in common whose evidence differs in nothing that is shown, but for how long the server took
 * and since when it is known. Its texts are ASCII.
 */
export interface RowTemplate {
  /** Of the row that the template was made of. */
  readonly result: VerificationResult;
  readonly charged: boolean;
  /** JSON behind the address, up to its normal form or, of what is no address, which has none, up to the latency. */
  readonly afterEmail: string;
  /** From the normal form to the latency; "" of what has none. */
  readonly afterNormalized: string;
  /** Between the latency and what CacheTimes says. */
  readonly afterLatency: string;
}

/** The result of a row as the texts it is made of: JSON of it is these, one behind the other. */
export interface DrawnRow {
  readonly template: RowTemplate;
  /** A bare ASCII address: it stands for itself in JSON, in cells, and before spreadsheets. */
  readonly email: string;
  /** `normalized_email`, as bare; "": that is the address itself, or there is none. */
  readonly normalized: string;
  readonly latencyMs: number;
  /** The members from `cache_ttl_seconds` on, and the brace that closes the result. */
  readonly times: string;
}

/** What a DrawnRow's JSON begins with, before its address and the quote behind that. */
export const JSON_START = '{"email":"';

/** Nothing to escape or to quote anywhere, and no formula. */
const BARE = /^[A-Za-z0-9][A-Za-z0-9._+@-]*$/;
const ASCII = /^[\x20-\x7e]*$/;
const NORMALIZED = '","normalized_email":"';
const LATENCY = '"latency_ms":';
const TIMES = '"cache_ttl_seconds":';

/** A template, and what a row must have in common with the one it was made of. */
interface KnownTemplate extends TemplateTraits {
  /** Under which names keep it. */
  number: number;
  template: RowTemplate;
}

/**
 * Draws results of rows without making them: `renderResult` and JSON.stringify for each row cost many times as much. The rows
 * of a list are answered in few ways, those of one domain mostly in one; what is the same is rendered once, by the general
 * way, and cut where rows differ.
 *
 * No result names its domain, so domains that are answered alike share a template: what is kept of each is which are its own.
 * With a template made for each domain, a row of a list of 100 000 domains cost twice that of one of 1 000.
 */
export interface RowDrawer {
  /** null: the row is one of those that the general way is for. */
  draw(question: AddressQuestion, finding: EvidenceFinding): DrawnRow | null;
  /** How many are kept at present, at most as many as its limits allow; and the numbers under which domains find theirs. */
  size(): { readonly templates: number; readonly numbers: number };
}

/** What a drawer keeps at most. */
export interface TemplateLimits {
  /** Templates. */
  kept: number;
  /** Numbers under which domains find theirs: one a template, and one for each domain that has several. */
  domains: number;
  perDomain: number;
}

export interface RowDrawerDeps {
  clock: Clock;
  examiner: Pick<Examiner, "draw">;
  limits: TemplateLimits;
}

/** Evidence whose result has a time to ask again, or may have: few rows, and each with its own. */
function hasRetryTime({ finding: { smtp } }: Evidence): boolean {
  if (smtp === null) return false;
  return (smtp.class !== "accepted" && smtp.class !== "mailbox_not_found") || smtp.retryAfterS !== null;
}

/** Whether the result is no other's, or has what shards have no room for. */
function isUnshareable({ overridden }: DomainStanding, evidence: Evidence): boolean {
  if (hasRetryTime(evidence)) return true;
  // An override hides what probing taught.
  return evidence.finding.smtp !== null && (overridden || !isUint32(evidence.latencyMs));
}

function timesText(storedAt: number, ttlS: number): string {
  const expiresAt = ttlS > 0 ? `"${new Date(storedAt + ttlS * 1_000).toISOString()}"` : "null";
  const verifiedAt = new Date(storedAt).toISOString();
  return `${TIMES}${ttlS},"cache_expires_at":${expiresAt},"verified_at":"${verifiedAt}","retry_at":null,"livemode":true}`;
}

/** null: it cannot be cut into a template. */
function templateOf(result: VerificationResult, charged: boolean, email: string): RowTemplate | null {
  // What is proposed instead has the local part in it, and is shown by the general way.
  if (result.email !== email || result.did_you_mean !== null || result.retry_at !== null) return null;
  const json = JSON.stringify(result);
  // A quote within a string is escaped: these can only be the members' names.
  const latencyAt = json.indexOf(LATENCY) + LATENCY.length;
  const restAt = latencyAt + String(result.checks.smtp.latency_ms).length;
  const emailEnd = JSON_START.length + email.length;
  const normalized = result.normalized_email;
  const normalizedAt = normalized === null ? latencyAt : emailEnd + NORMALIZED.length;
  const afterEmail = json.slice(emailEnd, normalizedAt);
  const afterNormalized = normalized === null ? "" : json.slice(normalizedAt + normalized.length, latencyAt);
  const afterLatency = json.slice(restAt, json.indexOf(TIMES));
  return ASCII.test(afterEmail) && ASCII.test(afterNormalized) && ASCII.test(afterLatency)
    ? { result, charged, afterEmail, afterNormalized, afterLatency }
    : null;
}

/** Moments of which the texts are kept, 150 bytes each. */
const TIMES_KEPT = 1_024;

export function createRowDrawer({ clock, examiner, limits }: RowDrawerDeps): RowDrawer {
  /** By the number that the domain's name keeps: the template that is all its rows', as of nearly all domains, or a list of its own. */
  const known = new LRUCache<number, KnownTemplate | KnownTemplate[]>({ max: limits.domains });
  /** Of what is no address. */
  const noDomain = new DomainName("");
  /** The same by what they are made of, see `templateKeyOf`. Emptied when full: a bound, not a policy. */
  const shared = new Map<string, KnownTemplate>();
  let replaced = 0;
  /** By `storedAt`. Emptied when full, too. */
  const knownTimes = new Map<number, { ttlS: number; text: string }>();
  let last = { storedAt: 0, ttlS: -1, text: "" };

  /** Rows that were learnt together have them in common; a list has rows of many batches, by turns. */
  function times(storedAt: number, ttlS: number): string {
    if (storedAt === last.storedAt && ttlS === last.ttlS) return last.text;
    last = { storedAt, ttlS, text: textOf(storedAt, ttlS) };
    return last.text;
  }

  function textOf(storedAt: number, ttlS: number): string {
    const found = knownTimes.get(storedAt);
    if (found !== undefined && found.ttlS === ttlS) return found.text;
    if (knownTimes.size >= TIMES_KEPT) knownTimes.clear();
    const text = timesText(storedAt, ttlS);
    knownTimes.set(storedAt, { ttlS, text });
    return text;
  }

  function remember(name: DomainName, one: KnownTemplate): void {
    const others = known.get(name.templatesMemoNumber);
    if (others === undefined) {
      known.set(one.number, one);
      name.templatesMemoNumber = one.number;
    } else if (!Array.isArray(others)) {
      name.templatesMemoNumber = nextMemoNumber();
      known.set(name.templatesMemoNumber, [others, one]);
    } else if (others.length < limits.perDomain) others.push(one);
    else others[++replaced % others.length] = one;
  }

  function keep(making: string, one: KnownTemplate): void {
    if (shared.size >= limits.kept) {
      shared.clear();
      // They would keep the templates.
      known.clear();
    }
    shared.set(making, one);
  }

  function knownTemplate(
    { templatesMemoNumber: templatesKept }: DomainName,
    standing: DomainStanding,
    finding: EvidenceFinding,
    said: LocalPartFacts,
  ): RowTemplate | null {
    const own = known.get(templatesKept);
    if (own === undefined) return null;
    if (!Array.isArray(own)) return matchesTemplate(own, standing, finding, said) ? own.template : null;
    for (const one of own) if (matchesTemplate(one, standing, finding, said)) return one.template;
    return null;
  }

  /** A template of the row's domain, or else of any domain that is answered alike, or else a new one. */
  function templateFor(
    question: AddressQuestion,
    finding: EvidenceFinding,
    email: string,
  ): RowTemplate | null {
    const { address } = question;
    const name = address?.name ?? noDomain;
    const said = localPartFactsOf(question);
    const own = knownTemplate(name, question, finding, said);
    if (own !== null) return own;
    const making = templateKeyOf(question, finding, said);
    const theirs = shared.get(making);
    const one = theirs ?? make(question, finding, email, said);
    if (one === null) return null;
    if (theirs === undefined) keep(making, one);
    remember(name, one);
    return one.template;
  }

  function make(
    question: AddressQuestion,
    finding: EvidenceFinding,
    email: string,
    said: LocalPartFacts,
  ): KnownTemplate | null {
    const { decision, result } = examiner.draw(question, finding);
    const charged = question.address !== null && !isUncharged(decision.reason);
    const template = templateOf(result, charged, email);
    if (template === null) return null;
    const { blocked, overridden, scope } = question;
    const evidence = finding.entry?.evidence.common() ?? null;
    const { cached } = finding;
    const kept = { blocked, overridden, scope };
    return { number: nextMemoNumber(), template, evidence, question: kept, cached, ...said };
  }

  function isGeneral(question: AddressQuestion, { entry, failure }: EvidenceFinding): boolean {
    const { address, withEvidence, declined, email } = question;
    // No row of a list declines a probe.
    if (withEvidence || declined || failure !== undefined) return true;
    if (address === null) return entry !== null || email.includes("@") || !isShownUncut(email);
    return entry === null || isUnshareable(question, entry.evidence);
  }

  const timesOf = (entry: CacheEntry | null) =>
    entry === null ? times(clock.now(), 0) : times(entry.storedAt, entry.ttlS);

  return {
    draw(question, finding) {
      const { address } = question;
      const email = address?.normalised ?? question.email;
      if (isGeneral(question, finding) || !BARE.test(email)) return null;
      const template = templateFor(question, finding, email);
      if (template === null) return null;
      const entry: CacheEntry | null = finding.entry;
      return {
        template,
        email,
        normalized: normalizedFor(question, entry, email),
        latencyMs: entry?.evidence.latencyMs ?? 0,
        times: timesOf(entry),
      };
    },
    size() {
      return { templates: shared.size, numbers: known.size };
    },
  };
}

function normalizedFor({ address }: AddressQuestion, entry: CacheEntry | null, email: string): string {
  if (address === null) return "";
  const normalized = normalizedEmail(address, entry?.evidence.mx.provider ?? null);
  return normalized === email ? "" : normalized;
}

/** As shards have room for. */
function isUint32(value: number): boolean {
  return value >>> 0 === value;
}

/** What is no address is shown by its beginning where it is long. */
function isShownUncut(email: string): boolean {
  return email.length <= LIMITS.http.emailBytes;
}

/** The result as JSON: what JSON.stringify makes of the general way's. */
export function drawnJsonOf({ template, email, normalized, latencyMs, times }: DrawnRow): string {
  const { afterEmail, afterNormalized, afterLatency } = template;
  const form = afterNormalized === "" ? "" : (normalized || email) + afterNormalized;
  return `${JSON_START}${email}${afterEmail}${form}${latencyMs}${afterLatency}${times}`;
}

/** The result itself, for who needs it as an object. */
export function drawnResultOf({
  template,
  email,
  normalized,
  latencyMs,
  times,
}: DrawnRow): VerificationResult {
  const { result } = template;
  const { smtp } = result.checks;
  const since = JSON.parse(`{${times}`) as Partial<VerificationResult>;
  return {
    ...result,
    email,
    normalized_email: result.normalized_email === null ? null : normalized || email,
    checks: { ...result.checks, smtp: { ...smtp, latency_ms: latencyMs } },
    ...since,
  };
}
