import { DomainName, keepingNumber } from "../../check/address/domain.ts";
import type { Evidence } from "../../check/evidence.ts";
import { domainAlias } from "../../check/mailbox/alias.ts";
import { type AliasKind, normalizedEmail, tagOf } from "../../check/mailbox/normal-form.ts";
import { localSignals, nameSignals, PLAIN_LOCAL } from "../../check/verdict/reputation.ts";
import { isFree } from "../../check/verdict/verdict.ts";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { RecentMap } from "../../core/recent-map.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { Examiner } from "./examine.ts";
import type { Finding } from "./finding.ts";
import type { Question, Standing } from "./question.ts";
import type { VerificationResult } from "./verification-result.ts";

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
interface Known {
  /** Under which names keep it. */
  number: number;
  template: RowTemplate;
  evidence: Evidence | null;
  question: Standing;
  cached: boolean;
  signals: readonly string[];
  tag: AliasKind | null;
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
  draw(question: Question, finding: Finding): DrawnRow | null;
  /**
   * What a row is drawn from that is plain (`kindOfCell`), its local part ordinary (`isOrdinaryLocal`); null: `draw` has to say.
   * @param name of its domain; null: it is no address
   */
  templateOf(name: DomainName | null, standing: Standing, finding: Finding): RowTemplate | null;
  /** The texts of when it was learnt. */
  timesOf(entry: CacheEntry | null): string;
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

type Listed = readonly (string | number)[] | undefined;

function sameList(a: Listed, b: Listed): boolean {
  if (a === b || a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function sameMx(a: Evidence["mx"], b: Evidence["mx"]): boolean {
  if (a === b) return true;
  const isSame = a.status === b.status && a.provider === b.provider && a.fault === b.fault;
  return isSame && sameList(a.hosts, b.hosts) && sameList(a.preferences, b.preferences);
}

function sameDomain(a: Evidence["domain"], b: Evidence["domain"]): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  const isSame = a.spf === b.spf && a.dmarc === b.dmarc && a.listedBy === b.listedBy;
  return isSame && a.parkedAddress === b.parkedAddress;
}

/** All that is shown of a probe, and all that the verdict goes by, without the latency. */
function sameSmtp(a: Evidence["smtp"], b: Evidence["smtp"]): boolean {
  if (a === null || b === null) return a === b;
  const isSame = a.class === b.class && a.code === b.code && a.enhancedCode === b.enhancedCode;
  const isJudgedSame = a.stage === b.stage && a.fault === b.fault && a.trusted === b.trusted;
  return isSame && isJudgedSame && a.catchAll === b.catchAll;
}

function sameEvidence(a: Evidence | null, b: Evidence | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  return (
    a.role === b.role &&
    a.freeProvider === b.freeProvider &&
    a.disposable.listed === b.disposable.listed &&
    a.disposable.source === b.disposable.source &&
    sameSmtp(a.smtp, b.smtp) &&
    sameMx(a.mx, b.mx) &&
    sameDomain(a.domain, b.domain)
  );
}

/** Evidence whose result has a time to ask again, or may have: few rows, and each with its own. */
function mayBeAskedAgain({ smtp }: Evidence): boolean {
  if (smtp === null) return false;
  return (smtp.class !== "accepted" && smtp.class !== "mailbox_not_found") || smtp.retryAfterS !== null;
}

/** Whether the result is no other's, or has what shards have no room for. */
function isItsOwn({ overridden }: Standing, evidence: Evidence): boolean {
  if (mayBeAskedAgain(evidence)) return true;
  const { smtp } = evidence;
  // An override hides what probing taught.
  return smtp !== null && (overridden || !isUint32(smtp.latencyMs));
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
  let known = new RecentMap<number, Known | Known[]>(limits.domains);
  /** Of what is no address. */
  const noDomain = new DomainName("");
  /** The same by what they are made of, see `makingOf`. Emptied when full: a bound, not a policy. */
  const shared = new Map<string, Known>();
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

  function remember(name: DomainName, one: Known): void {
    const others = known.get(name.templatesKept);
    if (others === undefined) {
      known.set(one.number, one);
      name.templatesKept = one.number;
    } else if (!Array.isArray(others)) {
      name.templatesKept = keepingNumber();
      known.set(name.templatesKept, [others, one]);
    } else if (others.length < limits.perDomain) others.push(one);
    else others[++replaced % others.length] = one;
  }

  function keep(making: string, one: Known): void {
    if (shared.size >= limits.kept) {
      shared.clear();
      // They would keep the templates.
      known = new RecentMap(limits.domains);
    }
    shared.set(making, one);
  }

  function knownTemplate(
    { templatesKept }: DomainName,
    standing: Standing,
    finding: Finding,
    said: OfLocal,
  ): RowTemplate | null {
    const own = known.get(templatesKept);
    if (own === undefined) return null;
    if (!Array.isArray(own)) return isAlike(own, standing, finding, said) ? own.template : null;
    for (const one of own) if (isAlike(one, standing, finding, said)) return one.template;
    return null;
  }

  /** A template of the row's domain, or else of any domain that is answered alike, or else a new one. */
  function templateFor(question: Question, finding: Finding, email: string): RowTemplate | null {
    const { address } = question;
    const name = address?.name ?? noDomain;
    const said = ofLocal(question);
    const own = knownTemplate(name, question, finding, said);
    if (own !== null) return own;
    const making = makingOf(question, finding, said);
    const others = shared.get(making);
    const isTheirs = others !== undefined && isAlike(others, question, finding, said);
    const one = isTheirs ? others : make(question, finding, email, said);
    if (one === null) return null;
    if (!isTheirs) keep(making, one);
    remember(name, one);
    return one.template;
  }

  function make(question: Question, finding: Finding, email: string, said: OfLocal): Known | null {
    const { decision, result } = examiner.draw(question, finding);
    const charged = question.address !== null && !isFree(decision.reason);
    const template = templateOf(result, charged, email);
    if (template === null) return null;
    const { blocked, overridden, scope } = question;
    const evidence = finding.entry?.evidence ?? null;
    const { cached } = finding;
    const kept = { blocked, overridden, scope };
    return { number: keepingNumber(), template, evidence, question: kept, cached, ...said };
  }

  function isGeneral(question: Question, { entry, failure }: Finding): boolean {
    const { address, withEvidence, declined, email } = question;
    // No row of a list declines a probe.
    if (withEvidence || declined || failure !== undefined) return true;
    if (address === null) return entry !== null || email.includes("@") || !isShownWhole(email);
    return entry === null || isItsOwn(question, entry.evidence);
  }

  const timesOf = (entry: CacheEntry | null) =>
    entry === null ? times(clock.now(), 0) : times(entry.storedAt, entry.ttlS);

  return {
    templateOf(name, standing, finding) {
      const { entry, failure } = finding;
      if (failure !== undefined || (entry !== null && isItsOwn(standing, entry.evidence))) return null;
      return knownTemplate(name ?? noDomain, standing, finding, name === null ? NO_LOCAL : ORDINARY);
    },
    timesOf,
    draw(question, finding) {
      const { address } = question;
      const email = address?.normalised ?? question.email;
      if (isGeneral(question, finding) || !(question.ordinary || BARE.test(email))) return null;
      const template = templateFor(question, finding, email);
      if (template === null) return null;
      const entry: CacheEntry | null = finding.entry;
      return {
        template,
        email,
        normalized: normalizedFor(question, entry, email),
        latencyMs: entry?.evidence.smtp?.latencyMs ?? 0,
        times: timesOf(entry),
      };
    },
    size() {
      return { templates: shared.size, numbers: known.size };
    },
  };
}

/** What a local part says of itself. */
type OfLocal = Pick<Known, "signals" | "tag">;
/** Of what is no address. */
const NO_LOCAL: OfLocal = { signals: [], tag: null };
/** As `isOrdinaryLocal` tells it. */
const ORDINARY: OfLocal = { signals: PLAIN_LOCAL, tag: null };

function ofLocal({ address, ordinary }: Question): OfLocal {
  if (address === null) return NO_LOCAL;
  return ordinary ? ORDINARY : { signals: localSignals(address.local), tag: tagOf(address) };
}

function normalizedFor({ address, ordinary }: Question, entry: CacheEntry | null, email: string): string {
  if (address === null || (ordinary && address.name.mailboxes === null)) return "";
  const normalized = normalizedEmail(address, entry?.evidence.mx.provider ?? null);
  return normalized === email ? "" : normalized;
}

function isAlike(one: Known, standing: Standing, finding: Finding, { signals, tag }: OfLocal): boolean {
  const { blocked, overridden, scope } = one.question;
  if (scope !== standing.scope || blocked !== standing.blocked || overridden !== standing.overridden)
    return false;
  if (one.cached !== finding.cached || one.signals !== signals || one.tag !== tag) return false;
  return sameEvidence(one.evidence, finding.entry?.evidence ?? null);
}

/**
 * What of a row its template is made of, as text: what `isAlike` compares, and what the name of its domain says. It is looked at
 * once a domain and outcome.
 */
function makingOf(
  { address, blocked, overridden, scope }: Question,
  { entry, cached }: Finding,
  { signals, tag }: OfLocal,
): string {
  const names = address === null ? null : nameSignals(address);
  const evidence = entry?.evidence ?? null;
  const alias = address === null ? null : domainAlias(address.domain, evidence?.mx.hosts ?? []);
  const { smtp, mx, domain, role, freeProvider, disposable } = evidence ?? {};
  const ofServer = smtp && [
    ...[smtp.class, smtp.code, smtp.enhancedCode, smtp.stage, smtp.fault, smtp.trusted, smtp.catchAll],
  ];
  return JSON.stringify([
    ...[names, blocked, overridden, scope, cached, signals, tag, alias, role, freeProvider],
    ...[disposable?.listed, disposable?.source, mx?.status, mx?.provider, mx?.fault, mx?.hosts],
    mx?.preferences,
    ...[domain?.spf, domain?.dmarc, domain?.listedBy, domain?.parkedAddress, ofServer],
  ]);
}

/** As shards have room for. */
function isUint32(value: number): boolean {
  return value >>> 0 === value;
}

/** What is no address is shown by its beginning where it is long. */
function isShownWhole(email: string): boolean {
  return email.length <= LIMITS.http.emailBytes;
}

/** The result as JSON: what JSON.stringify makes of the general way's. */
export function jsonOf({ template, email, normalized, latencyMs, times }: DrawnRow): string {
  const { afterEmail, afterNormalized, afterLatency } = template;
  const form = afterNormalized === "" ? "" : (normalized || email) + afterNormalized;
  return `${JSON_START}${email}${afterEmail}${form}${latencyMs}${afterLatency}${times}`;
}

/** The result itself, for who needs it as an object. */
export function resultOf({ template, email, normalized, latencyMs, times }: DrawnRow): VerificationResult {
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
