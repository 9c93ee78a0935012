/** What preflight checks, in the order of its report. */
export const SELF_CHECKS = [
  "source_address",
  "proxy",
  "port_25",
  "starttls",
  "helo_name",
  "helo_forward",
  "reverse_name",
  "dnsbl",
  "mail_from",
  "spf",
] as const;
export type SelfCheckName = (typeof SELF_CHECKS)[number];

/** `unknown`: it could not be determined; `skipped`: it does not apply to this route. */
export type SelfCheckResult = "pass" | "fail" | "unknown" | "skipped";

/**
 * What a failure means. `trust`: refusals by this route may be about us, so they make no address invalid; `service`:
 * nothing can be probed by this route; `advice`: answers are good, but could be better.
 */
export type SelfCheckWeight = "trust" | "service" | "advice";

export interface SelfCheckFinding {
  check: SelfCheckName;
  result: SelfCheckResult;
  weight: SelfCheckWeight;
  /** A sentence: what was seen. */
  seen: string;
  /** A sentence: what to do; "" when there is nothing to do. */
  advice: string;
  /**
   * What of it failed, and what of it could not be determined: addresses, of lists with their zone. Absent: all, or
   * nothing, of it.
   */
  failing?: readonly string[];
  untold?: readonly string[];
  /** Another look soon may tell. */
  again?: true;
  /** When a failure was last seen that stands since it could not be checked again; ISO 8601, UTC. */
  failedAt?: string;
}

/** An address that mail servers have seen us come from. */
export interface SeenAddress {
  address: string;
  /** The last time; ISO 8601, UTC. */
  seenAt: string;
}

/** A time in which we were distrusted without knowing it, or knew it; ISO 8601, UTC. */
export interface DistrustPeriod {
  /** The last look that found all in order. */
  from: string;
  /** The first that did again; null: none has yet. */
  to: string | null;
}

/** What preflight found of one way out. */
export interface RouteReport {
  /** Name of the way: a source address, a proxy, `direct`. */
  way: string;
  /** `failing` while something fails that is more than advice. */
  state: "ok" | "failing";
  /** False while a refusal at RCPT by this route makes no address invalid. */
  trusted: boolean;
  /** What most mail servers take for our address; null: not known. */
  address: string | null;
  /** All that they took for it in LIMITS.selfCheck.rememberedMs, at most LIMITS.selfCheck.addresses. */
  addresses: SeenAddress[];
  /** ISO 8601, UTC. */
  checkedAt: string;
  /** The last look that found nothing against us; ISO 8601, UTC; null: none is known. */
  trustedAt: string | null;
  /** Refusals by this route in these periods make no address invalid, also those that were read before the period was known. */
  doubted: DistrustPeriod[];
  findings: SelfCheckFinding[];
}

/** What check threads have to know of it. Plain data: it crosses into them. */
export interface SelfCheckUpdate {
  /** Names of the ways that are not trusted. */
  distrusted: readonly string[];
  /** What mail servers take for our address, by name of the way, where it is known. */
  seenAs: Readonly<Record<string, string>>;
}

/** A finding that needs nothing done. */
export function noActionFinding(
  check: SelfCheckName,
  result: Exclude<SelfCheckResult, "fail">,
  weight: SelfCheckWeight,
  seen: string,
): SelfCheckFinding {
  return { check, result, weight, seen, advice: "" };
}

const failsBy = (findings: readonly SelfCheckFinding[], ...weights: SelfCheckWeight[]) =>
  findings.some(({ result, weight }) => result === "fail" && weights.includes(weight));

/** While it is false, no refusal at RCPT makes an address invalid. Only certain failures count: `unknown` withdraws nothing. */
export function isRouteTrusted(findings: readonly SelfCheckFinding[]): boolean {
  return !failsBy(findings, "trust");
}

/** What one look found, as if there had been none before. */
export function routeReportOf(
  way: string,
  address: string | null,
  epochMs: number,
  findings: readonly SelfCheckFinding[],
  addresses: SeenAddress[] = [],
): RouteReport {
  const order = (finding: SelfCheckFinding) => SELF_CHECKS.indexOf(finding.check);
  return {
    way,
    state: failsBy(findings, "trust", "service") ? "failing" : "ok",
    trusted: isRouteTrusted(findings),
    address,
    addresses,
    checkedAt: new Date(epochMs).toISOString(),
    trustedAt: null,
    doubted: [],
    findings: findings.toSorted((a, b) => order(a) - order(b)),
  };
}
