import type { SelfCheckFinding, SelfCheckResult } from "./report.ts";

/**
 * Results from worst to best. The worst counts: one failing address is enough, since any address may be the next that a
 * server sees.
 */
const ORDER: readonly SelfCheckResult[] = ["fail", "unknown", "pass", "skipped"];

/** Adds the address to a failed or unknown finding. */
export function attributeToAddress(address: string, finding: SelfCheckFinding): SelfCheckFinding {
  if (finding.failing !== undefined || finding.untold !== undefined) return finding;
  if (finding.result === "fail") return { ...finding, failing: [address] };
  return finding.result === "unknown" ? { ...finding, untold: [address] } : finding;
}

/** One finding for each check. @param found of each address the same checks in the same order */
export function combineFindings(found: readonly (readonly SelfCheckFinding[])[]): SelfCheckFinding[] {
  const [first = []] = found;
  return first.map((_, i) => combine(found.flatMap((findings) => findings[i] ?? [])));
}

function combine(findings: readonly SelfCheckFinding[]): SelfCheckFinding {
  const ranked = findings.toSorted((a, b) => ORDER.indexOf(a.result) - ORDER.indexOf(b.result));
  const [worst] = ranked as [SelfCheckFinding];
  const alike = ranked.filter(({ result }) => result === worst.result);
  const failing = findings.flatMap((finding) => finding.failing ?? []);
  const untold = findings.flatMap((finding) => finding.untold ?? []);
  return {
    ...worst,
    seen: [...new Set(alike.map(({ seen }) => seen))].join(" "),
    ...(failing.length > 0 ? { failing } : {}),
    ...(findings.some((finding) => finding.untold !== undefined) ? { untold } : {}),
    ...(findings.some(({ again }) => again) ? { again: true } : {}),
  };
}
