/** The checks of preflight, in the order of its report. */
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
 * The meaning of a failure. `trust`: refusals over this route may be about us, so they make no address invalid; `service`:
 * nothing can be probed over this route; `advice`: answers are good, but could be better.
 */
export type SelfCheckWeight = "trust" | "service" | "advice";

export interface SelfCheckFinding {
  check: SelfCheckName;
  result: SelfCheckResult;
  weight: SelfCheckWeight;
  /** A sentence that describes the observation. */
  seen: string;
  /** A sentence: what to do; "" when there is nothing to do. */
  advice: string;
  /**
   * Addresses that failed (`failing`), or could not be checked (`untold`); a list's with its zone. Absent: all of the
   * finding, or nothing.
   */
  failing?: readonly string[];
  untold?: readonly string[];
  /** Another look soon may give a result. */
  again?: true;
  /** When a failure that could not be checked again was last seen; ISO 8601, UTC. */
  failedAt?: string;
}

/** An address that mail servers have seen us come from. */
export interface SeenAddress {
  address: string;
  /** The last time; ISO 8601, UTC. */
  seenAt: string;
}

/** A period in which our identity was not trusted, known at the time or later; ISO 8601, UTC. */
export interface DistrustPeriod {
  /** The last look before it without a failure. */
  from: string;
  /** The first look after it without a failure; null: the period has not ended. */
  to: string | null;
}

/** Preflight's report on one egress route. */
export interface RouteReport {
  /** Name of the route: a source address, a proxy, `direct`. */
  way: string;
  /** `failing` while something fails that is more than advice. */
  state: "ok" | "failing";
  /** False while a refusal at RCPT over this route makes no address invalid. */
  trusted: boolean;
  /** The address that most mail servers see us come from; null: not known. */
  address: string | null;
  /** Addresses that servers saw in LIMITS.selfCheck.rememberedMs, at most LIMITS.selfCheck.addresses. */
  addresses: SeenAddress[];
  /** ISO 8601, UTC. */
  checkedAt: string;
  /** The last look without a failure that withdraws trust; ISO 8601, UTC; null: not known. */
  trustedAt: string | null;
  /**
   * Refusals over this route in these periods make no address invalid, even if they were read before the period was known.
   */
  doubted: DistrustPeriod[];
  findings: SelfCheckFinding[];
}

/** The part of the self-check that check threads need. Plain data: it crosses into them. */
export interface SelfCheckUpdate {
  /** Names of the routes that are not trusted. */
  distrusted: readonly string[];
  /** The address that mail servers see us come from, by name of the route, if known. */
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

/** The report of one look, without the history. */
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
