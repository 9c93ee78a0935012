import { LIMITS } from "../../config/limits/limits.ts";
import { type DistrustPeriod, type RouteReport, routeReportOf, type SelfCheckFinding } from "./report.ts";

/**
 * Combines a look with the findings of earlier ones. A failure that withdraws trust stands until a look disproves it: a
 * silent list, or a server that named no address of ours, does not show that the failure is over. It stands for
 * LIMITS.selfCheck.rememberedMs after it was last seen.
 * @param before the report of the look before; null: it is not known
 * @param everyMs interval of looks: a new failure may have begun that long ago
 */
export function withHistory(report: RouteReport, before: RouteReport | null, everyMs: number): RouteReport {
  const nowMs = Date.parse(report.checkedAt);
  const findings = report.findings.map((finding) => withStandingFailure(finding, before, nowMs));
  const now = routeReportOf(report.way, report.address, nowMs, findings, report.addresses);
  const trustedAt = now.trusted ? now.checkedAt : (before?.trustedAt ?? null);
  return { ...now, trustedAt, doubted: distrustPeriodsOf(now, before, everyMs) };
}

function withStandingFailure(
  finding: SelfCheckFinding,
  before: RouteReport | null,
  nowMs: number,
): SelfCheckFinding {
  const old = before?.findings.find(({ check, result }) => check === finding.check && result === "fail");
  if (before === null || old === undefined || old.weight !== "trust") return finding;
  const failedAt = old.failedAt ?? before.checkedAt;
  if (nowMs - Date.parse(failedAt) >= LIMITS.selfCheck.rememberedMs) return finding;
  if (isUndetermined(finding)) return { ...old, failedAt, ...againOf(finding) };
  const failing = (old.failing ?? []).filter((part) => finding.untold?.includes(part));
  if (failing.length === 0) return finding;
  if (finding.result === "fail")
    return { ...finding, failing: [...new Set([...(finding.failing ?? []), ...failing])] };
  // The listing was seen, but the zone could not prove that it works: it counts like the last time.
  const seenAt = finding.again ? new Date(nowMs).toISOString() : failedAt;
  return { ...old, failing, failedAt: seenAt, ...againOf(finding) };
}

/** No part of it could be determined. */
function isUndetermined({ result, untold }: SelfCheckFinding): boolean {
  return result === "unknown" && untold === undefined;
}

function againOf({ again }: SelfCheckFinding): Pick<SelfCheckFinding, "again"> {
  return again ? { again } : {};
}

function distrustPeriodsOf(
  { trusted, checkedAt }: RouteReport,
  before: RouteReport | null,
  everyMs: number,
): DistrustPeriod[] {
  const { rememberedMs, doubts, jitter } = LIMITS.selfCheck;
  const nowMs = Date.parse(checkedAt);
  const known = (before?.doubted ?? []).filter(
    ({ to }) => to === null || nowMs - Date.parse(to) < rememberedMs,
  );
  const open = known.find(({ to }) => to === null);
  if (trusted) return known.map((doubt) => (doubt === open ? { ...doubt, to: checkedAt } : doubt));
  if (open !== undefined) return known;
  const since = before?.trustedAt ?? new Date(nowMs - everyMs * (1 + jitter)).toISOString();
  const [first, second, ...rest] = [...known, { from: since, to: null }];
  if (first === undefined || second === undefined || rest.length + 2 <= doubts)
    return [...known, { from: since, to: null }];
  return [{ from: first.from, to: second.to }, ...rest];
}

/** True when evidence over the route of `report` was gathered in a period in which refusals made no address invalid. */
export function wasDistrustedAt({ doubted }: Pick<RouteReport, "doubted">, epochMs: number): boolean {
  return doubted.some(
    ({ from, to }) => epochMs > Date.parse(from) && (to === null || epochMs <= Date.parse(to)),
  );
}
