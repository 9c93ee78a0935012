import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import { normalizedEmail } from "../../../verification/mailbox/normal-form.ts";
import type { AddressQuestion, DomainStanding } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import type { Examiner } from "../answer/examine.ts";
import type { VerificationResult } from "../answer/verification-result.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import { JSON_START, type RowTemplate, RowTemplates, type TemplateLimits } from "./row-templates.ts";
import { RowTimes } from "./row-times.ts";

/** The result of a row as the texts it is made of: JSON of it is these, one behind the other. */
export interface TemplatedRow {
  readonly template: RowTemplate;
  /** A bare ASCII address: its text is unchanged in JSON and in cells, and is never a formula. */
  readonly email: string;
  /** `normalized_email`, as bare; "": that is the address itself, or there is none. */
  readonly normalized: string;
  readonly latencyMs: number;
  /** The members from `cache_ttl_seconds` on, and the brace that closes the result. */
  readonly times: string;
}

/** Nothing to escape or to quote anywhere, and no formula. */
const BARE = /^[A-Za-z0-9][A-Za-z0-9._+@-]*$/;

/**
 * Makes results of rows, and of single requests, by filling templates: `renderResult` and JSON.stringify for each cost many
 * times as much. The rows of a list have few different answers, those of one domain mostly one. The common text is rendered once, by `renderResult`,
 * and cut at the differences.
 *
 * No result names its domain, so domains with the same answers share a template, and each domain refers to its templates.
 * With a template for each domain, a row of a list of 100 000 domains cost twice that of one of 1 000.
 */
export interface RowFiller {
  /** null: the row needs `renderResult`. */
  fill(question: AddressQuestion, finding: EvidenceFinding): TemplatedRow | null;
  /** Number of templates, within its limits, and number of references from domains to them. */
  size(): { readonly templates: number; readonly domainReferences: number };
}

export interface RowFillerDeps {
  clock: Clock;
  examiner: Pick<Examiner, "answer">;
  limits: TemplateLimits;
}

/** Evidence whose result has a time to ask again, or may have: few rows, and each with its own. */
function hasRetryTime({ finding: { smtp } }: Evidence): boolean {
  if (smtp === null) return false;
  return (smtp.class !== "accepted" && smtp.class !== "mailbox_not_found") || smtp.retryAfterS !== null;
}

/** True when no other row can have the result, or a shard's row cannot express it. */
function isUnshareable({ overridden }: DomainStanding, evidence: Evidence): boolean {
  if (hasRetryTime(evidence)) return true;
  // An override hides what probing taught.
  return evidence.finding.smtp !== null && (overridden || !isUint32(evidence.latencyMs));
}

/** True when no template can give the result. */
function needsRenderResult(question: AddressQuestion, { entry, failure }: EvidenceFinding): boolean {
  const { address, withEvidence, declined, email } = question;
  // No row of a list declines a probe.
  if (withEvidence || declined || failure !== undefined) return true;
  if (address === null) return entry !== null || email.includes("@") || !isShownUncut(email);
  return entry === null || isUnshareable(question, entry.evidence);
}

export function createRowFiller({ clock, examiner, limits }: RowFillerDeps): RowFiller {
  const templates = new RowTemplates(examiner, limits);
  const times = new RowTimes();

  return {
    fill(question, finding) {
      const { address } = question;
      const email = address?.normalised ?? question.email;
      if (needsRenderResult(question, finding) || !BARE.test(email)) return null;
      const template = templates.templateFor(question, finding, email);
      if (template === null) return null;
      const entry: CacheEntry | null = finding.entry;
      return {
        template,
        email,
        normalized: normalizedFor(question, entry, email),
        latencyMs: entry?.evidence.latencyMs ?? 0,
        times: entry === null ? times.textOf(clock.now(), 0) : times.textOf(entry.storedAt, entry.ttlS),
      };
    },
    size: () => templates.size(),
  };
}

function normalizedFor({ address }: AddressQuestion, entry: CacheEntry | null, email: string): string {
  if (address === null) return "";
  const normalized = normalizedEmail(address, entry?.evidence.mx.provider ?? null);
  return normalized === email ? "" : normalized;
}

/** True for a number that a shard can store. */
function isUint32(value: number): boolean {
  return value >>> 0 === value;
}

/** True when a text that is not an address is short enough to be shown whole. */
function isShownUncut(email: string): boolean {
  return email.length <= LIMITS.http.emailBytes;
}

/** The result as JSON, identical to JSON.stringify of the rendered result. */
export function templatedJsonOf({ template, email, normalized, latencyMs, times }: TemplatedRow): string {
  const { afterEmail, afterNormalized, afterLatency } = template;
  const form = afterNormalized === "" ? "" : (normalized || email) + afterNormalized;
  return `${JSON_START}${email}${afterEmail}${form}${latencyMs}${afterLatency}${times}`;
}

/** The result itself, where it is needed as an object. */
export function templatedResultOf({
  template,
  email,
  normalized,
  latencyMs,
  times,
}: TemplatedRow): VerificationResult {
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
