import { LIMITS } from "../../../config/limits/limits.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import { aliasOf } from "../../../verification/mailbox/alias.ts";
import { normalizedEmail } from "../../../verification/mailbox/normal-form.ts";
import { suggestAddress, suggestForMalformed } from "../../../verification/suggest/suggest.ts";
import type { Decision } from "../../../verification/verdict/verdict.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import { retryAfter } from "./retry-after.ts";
import type { VerificationResult } from "./verification-result.ts";

const NO_HOSTS: readonly string[] = [];

/** The data of a result. `entry` null: there is no evidence (bad format, deadline, our own fault). */
export interface ResultSource {
  email: string;
  address: ParsedAddress | null;
  /** Number of addresses in a text that is malformed because it has several; else 0. */
  addresses: number;
  decision: Decision;
  entry: CacheEntry | null;
  /** Epoch milliseconds; the time of a result that was not kept. */
  now: number;
  cached: boolean;
  livemode: boolean;
  withEvidence: boolean;
}

/**
 * The address or text to show. A text that is not an address is cut to the maximum length of an address: a list's cell may
 * be of any length, and the results have the whole cell as well. No character is cut in two.
 */
function shownEmail({ email, address }: ResultSource): string {
  const { emailBytes } = LIMITS.http;
  if (address !== null || Buffer.byteLength(email) <= emailBytes) return email;
  const { read } = new TextEncoder().encodeInto(email, new Uint8Array(emailBytes));
  return email.slice(0, read);
}

/** The response body of a verification: every field of the contract, in its type, whatever was reached. */
export function renderResult(source: ResultSource): VerificationResult {
  const { decision, entry, address } = source;
  const verifiedAt = entry?.storedAt ?? source.now;
  const ttlS = entry?.ttlS ?? 0;
  const result: VerificationResult = {
    email: shownEmail(source),
    normalized_email: address === null ? null : normalizedEmail(address, entry?.evidence.mx.provider ?? null),
    verdict: decision.verdict,
    reason: decision.reason,
    risk_score: decision.riskScore,
    did_you_mean: address === null ? suggestForMalformed(source.email) : suggestAddress(address),
    checks: renderChecks(address, entry?.evidence ?? null, decision),
    cached: source.cached,
    cache_ttl_seconds: ttlS,
    cache_expires_at: ttlS > 0 ? new Date(verifiedAt + ttlS * 1000).toISOString() : null,
    verified_at: new Date(verifiedAt).toISOString(),
    retry_at: retryAt(entry, source.now),
    livemode: source.livemode,
  };
  if (source.addresses > 0) result.addresses = source.addresses;
  if (source.withEvidence) result.evidence = renderEvidence(entry?.evidence ?? null);
  return result;
}

/**
 * Counted from when the evidence was stored. Once that is past, asking makes sense when the cache has forgotten it: until then
 * the same is answered, unless our own recheck brings an answer. Never past.
 */
function retryAt(entry: CacheEntry | null, now: number): string | null {
  const retry = entry === null ? null : retryAfter(entry.evidence.smtp);
  if (entry === null || retry === null) return null;
  const { storedAt, ttlS } = entry;
  const atMs = [storedAt + retry.seconds * 1_000, storedAt + ttlS * 1_000].find((ms) => ms > now);
  return atMs === undefined ? null : new Date(atMs).toISOString();
}

function renderChecks(
  address: ParsedAddress | null,
  evidence: Evidence | null,
  decision: Decision,
): VerificationResult["checks"] {
  const formatOk = address !== null;
  return {
    format: { ok: formatOk },
    mx: renderMx(evidence),
    disposable: {
      is_disposable: evidence?.disposable.listed ?? false,
      source: evidence?.disposable.source ?? "none",
      status: evidence === null ? "skipped" : "checked",
    },
    role: {
      is_role: evidence !== null && evidence.role !== null,
      role: evidence?.role ?? null,
      status: evidence === null ? "skipped" : "checked",
    },
    alias: renderAlias(address, evidence),
    free_provider: {
      is_free_provider: evidence?.freeProvider ?? false,
      status: evidence === null ? "skipped" : "checked",
    },
    smtp: renderSmtp(evidence, decision),
    reputation: { ...decision.reputation, status: formatOk ? "checked" : "skipped" },
  };
}

function renderAlias(
  address: ParsedAddress | null,
  evidence: Evidence | null,
): VerificationResult["checks"]["alias"] {
  if (address === null) return { is_alias: false, kind: null, service: null, status: "skipped" };
  const { kind, service } = aliasOf(address, evidence?.mx.hosts ?? NO_HOSTS);
  return { is_alias: kind !== null, kind, service, status: "checked" };
}

function renderMx(evidence: Evidence | null): VerificationResult["checks"]["mx"] {
  if (evidence === null) return { ok: false, hosts: [], records: [], provider: null, status: "skipped" };
  const { status, hosts, preferences, provider } = evidence.mx;
  const ok = status === "ok" || status === "implicit";
  const records = hosts.map((host, i) => ({ host, preference: preferences?.[i] ?? null }));
  return { ok, hosts: [...hosts], records, provider, status };
}

function renderSmtp(evidence: Evidence | null, decision: Decision): VerificationResult["checks"]["smtp"] {
  const smtp = evidence?.smtp ?? null;
  // The verdict's fault: even without a dialogue it names the side that caused the failure.
  const { fault } = decision;
  if (smtp === null) {
    return {
      ok: false,
      code: 0,
      latency_ms: 0,
      status: "skipped",
      catch_all: "not_probed",
      enhanced_code: null,
      fault,
    };
  }
  return {
    ok: smtp.class === "accepted",
    code: smtp.code,
    latency_ms: smtp.latencyMs,
    status: smtp.class,
    catch_all: smtp.catchAll === "put_off" ? "inconclusive" : smtp.catchAll,
    enhanced_code: smtp.enhancedCode,
    fault,
  };
}

function renderEvidence(evidence: Evidence | null): NonNullable<VerificationResult["evidence"]> | null {
  const smtp = evidence?.smtp ?? null;
  if (smtp === null) return null;
  const { stage, code, enhancedCode, reply, rule, mxHost } = smtp;
  return { stage, code, enhanced_code: enhancedCode, reply, rule, mx_host: mxHost };
}
