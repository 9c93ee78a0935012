/** What preflight looks at, in the order in which it is told. */
export const HOUSE_CHECKS = [
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
export type HouseCheck = (typeof HOUSE_CHECKS)[number];

/** `unknown`: it could not be told; `skipped`: it does not apply to this way. */
export type CheckResult = "pass" | "fail" | "unknown" | "skipped";

/**
 * What a failure means. `trust`: refusals by this way may be about us, so they condemn nobody; `service`: nothing can
 * be probed this way; `advice`: answers are good, but could be better.
 */
export type CheckWeight = "trust" | "service" | "advice";

export interface Finding {
  check: HouseCheck;
  result: CheckResult;
  weight: CheckWeight;
  /** A sentence: what was seen. */
  seen: string;
  /** A sentence: what to do; "" when there is nothing to do. */
  advice: string;
}

/** What preflight found of one way out. */
export interface WayReport {
  /** Name of the way: a source address, a proxy, `direct`. */
  way: string;
  /** `failing` while something fails that is more than advice. */
  state: "ok" | "failing";
  /** False while what RCPT is answered this way can condemn nobody. */
  trusted: boolean;
  /** What mail servers take for our address; null: not known. */
  address: string | null;
  /** ISO 8601, UTC. */
  checkedAt: string;
  findings: Finding[];
}

/** What check threads have to know of it. Plain data: it crosses into them. */
export interface HouseNews {
  /** Names of the ways that are not trusted. */
  distrusted: readonly string[];
  /** What mail servers take for our address, by name of the way, where it is known. */
  seenAs: Readonly<Record<string, string>>;
}

/** A finding that needs nothing done. */
export function fine(
  check: HouseCheck,
  result: Exclude<CheckResult, "fail">,
  weight: CheckWeight,
  seen: string,
): Finding {
  return { check, result, weight, seen, advice: "" };
}

const failsBy = (findings: readonly Finding[], ...weights: CheckWeight[]) =>
  findings.some(({ result, weight }) => result === "fail" && weights.includes(weight));

/** Only what certainly failed counts: `unknown` withdraws nothing. */
export function reportOf(
  way: string,
  address: string | null,
  epochMs: number,
  findings: Finding[],
): WayReport {
  const order = (finding: Finding) => HOUSE_CHECKS.indexOf(finding.check);
  return {
    way,
    state: failsBy(findings, "trust", "service") ? "failing" : "ok",
    trusted: !failsBy(findings, "trust"),
    address,
    checkedAt: new Date(epochMs).toISOString(),
    findings: findings.toSorted((a, b) => order(a) - order(b)),
  };
}
