import type { CatchAll, Evidence, Fault, MxStatus, SmtpClass, SmtpEvidence } from "../check/evidence.ts";
import type { CacheEntry } from "./cache-entry.ts";

/**
 * Whether what was read has the parts that readers rely on. Another version of ours may have written it, or somebody by hand:
 * an entry that has an answer for nobody is to be a miss, and not the end of who reads it.
 */

const MX_STATUSES = {
  ...{ ok: true, implicit: true, no_mx: true, null_mx: true, mx_unresolvable: true },
  ...{ domain_not_found: true, dns_error: true, skipped: true },
} satisfies Record<MxStatus, true>;
const CLASSES = {
  ...{ accepted: true, mailbox_not_found: true, mailbox_disabled: true, mailbox_full: true },
  ...{ refused_by_policy: true, sender_blocked: true, greylisted: true, rate_limited_by_server: true },
  ...{ smtp_protocol_error: true, no_connect: true, timeout: true, our_network: true },
  provider_unverifiable: true,
} satisfies Record<SmtpClass, true>;
const STAGES = {
  ...{ dns: true, connect: true, greeting: true, ehlo: true, starttls: true, mail: true, rcpt: true },
} satisfies Record<SmtpEvidence["stage"], true>;
const CATCH_ALLS = {
  ...{ accepted: true, refused: true, inconclusive: true, put_off: true, not_probed: true },
} satisfies Record<CatchAll, true>;
const FAULTS = {
  ...{ recipient: true, their_server: true, our_address: true, our_network: true },
} satisfies Record<Fault, true>;

/** What JSON.parse made: of any member it is not known whether it is there. */
type Read = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Read => typeof value === "object" && value !== null;
const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isTextOrNull = (value: unknown) => value === null || isText(value);
const isFlagOrNull = (value: unknown) => value === null || isFlag(value);
const isOneOf = (names: object, value: unknown) => typeof value === "string" && Object.hasOwn(names, value);
const isFault = (value: unknown) => value === null || isOneOf(FAULTS, value);

/** One for each host. Entries of an earlier build have none. */
function arePreferences(preferences: unknown, hosts: number): boolean {
  if (preferences === undefined) return true;
  return Array.isArray(preferences) && preferences.length === hosts && preferences.every(Number.isInteger);
}

function isMx(mx: unknown): boolean {
  if (!isObject(mx) || !isOneOf(MX_STATUSES, mx.status) || !isFault(mx.fault)) return false;
  const { hosts, preferences } = mx;
  if (!Array.isArray(hosts) || !hosts.every(isText)) return false;
  return arePreferences(preferences, hosts.length) && isTextOrNull(mx.provider) && isNumber(mx.ttlS);
}

function isDomain(domain: unknown): boolean {
  if (!isObject(domain) || !isFlagOrNull(domain.spf) || !isFlagOrNull(domain.dmarc)) return false;
  return isTextOrNull(domain.listedBy) && isFlag(domain.parkedAddress);
}

function isSmtp(smtp: unknown): boolean {
  if (!isObject(smtp) || !isOneOf(CLASSES, smtp.class) || !isOneOf(STAGES, smtp.stage)) return false;
  if (!isFault(smtp.fault) || !isOneOf(CATCH_ALLS, smtp.catchAll)) return false;
  const { code, enhancedCode, reply, rule, mxHost, path, trusted, retryAfterS, latencyMs, tls } = smtp;
  const areWords = isTextOrNull(enhancedCode) && [reply, rule, mxHost, path].every(isText);
  const areNumbers = isNumber(code) && isNumber(latencyMs) && (retryAfterS === null || isNumber(retryAfterS));
  return areWords && areNumbers && isFlag(trusted) && isFlag(tls);
}

/** Evidence of this version, whole. */
export function isEvidence(value: unknown): value is Evidence {
  if (!isObject(value) || value.v !== 2 || !isMx(value.mx)) return false;
  const { disposable, role, freeProvider, domain, smtp } = value;
  const isListed = isObject(disposable) && isFlag(disposable.listed) && isText(disposable.source);
  if (!isListed || !isTextOrNull(role) || !isFlag(freeProvider)) return false;
  return (domain === undefined || isDomain(domain)) && (smtp === null || isSmtp(smtp));
}

/** ECMAScript's last moment: a later one cannot be shown. */
const LAST_MS = 8.64e15;

/** Times that can be shown as dates, both of them. */
export function areTimes({ storedAt, ttlS }: { storedAt: unknown; ttlS: unknown }): boolean {
  if (!isNumber(storedAt) || !isNumber(ttlS)) return false;
  return storedAt >= 0 && ttlS >= 0 && storedAt + ttlS * 1_000 <= LAST_MS;
}

/** An entry of the cache, whole. */
export function isEntry(value: unknown): value is CacheEntry {
  if (!isObject(value)) return false;
  const { evidence, storedAt, ttlS } = value;
  return isEvidence(evidence) && areTimes({ storedAt, ttlS });
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
