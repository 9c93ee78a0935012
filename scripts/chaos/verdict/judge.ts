import { GROWTH, growthOf, type Resources } from "../deployment/resources.ts";
import { causeOf, failuresByCause } from "../faults/windows.ts";
import type { Account, Storm } from "../storm.ts";
import type { Decisions } from "../traffic/truth.ts";
import { chargeInterval, wrongCharge } from "./charges.ts";
import { type Finding, none, noted, within } from "./closing.ts";
import { judgeStorage } from "./judge-storage.ts";
import { SETTLED_WITHIN_MS } from "./leftovers.ts";

/** Time that a recovered service and its clients need until requests are served as before. */
export const GRACE_MS = 4_000;

export interface Judgement {
  findings: Finding[];
  details: string[];
}

function requests({ requests: { total, failures, counts }, outages, calm }: Storm): Judgement {
  const { counts: byCause, unexplained } = failuresByCause(failures, outages, GRACE_MS);
  const statuses = [...counts].sort().map(([how, count]) => `${how}: ${count}`);
  const causes = [...byCause].sort().map(([name, count]) => noted(`  failed: ${name}`, count));
  const withoutFaults = calm.filter((failure) => causeOf(failure, outages, GRACE_MS) === null);
  const shown = unexplained.map(
    ({ how, code, target, needs, fromMs, toMs }) =>
      `${how} ${code ?? ""} of ${target ?? "the balancer"}, ${needs}, from ${(fromMs / 1_000).toFixed(1)} to ${(toMs / 1_000).toFixed(1)} s`,
  );
  return {
    findings: [
      noted("requests", total),
      noted("  by answer", statuses.join(", ")),
      ...causes,
      none("failures beyond an outage", unexplained.length),
      none("failures without faults", withoutFaults.length),
    ],
    details: shown,
  };
}

function faultCounts({ faults, outages, impossible }: Storm): Judgement {
  const counts = new Map<string, number>();
  for (const { kind } of outages) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const inflicted = outages.filter(({ kind }) => kind !== "slow-machine").length;
  const text = [...counts].sort().map(([kind, count]) => `${kind} ${count}`);
  const planned = new Set(faults.map(({ kind }) => kind));
  const never = [...planned].filter((kind) => !counts.has(kind) && !impossible.includes(kind));
  return {
    findings: [
      noted("faults", `${inflicted} of ${faults.length} planned`),
      noted("  by kind", text.join(", ")),
      none("kinds that never came about", never.length),
    ],
    details: never.map((kind) => `${kind} was planned, and befell nobody`),
  };
}

/** Largest share of undecided answers in calm phases: a service that never decides would never be wrong. */
const UNDECIDED_SHARE = 0.1;

const undecided = (name: string, { answered, undecided }: Decisions) =>
  within(
    name,
    `${undecided} of ${answered}`,
    `${UNDECIDED_SHARE * 100} % of some`,
    answered > 0 && undecided <= UNDECIDED_SHARE * answered,
  );

function rows({ rows, jobsFound, refusedLists, calmRows }: Storm): Judgement {
  const findings = [
    noted("jobs", rows.jobs),
    none("jobs that did not complete", rows.unfinished.length),
    none("jobs nobody asked for", Math.max(0, jobsFound - rows.jobs)),
    none("lists that were not taken", refusedLists.length),
    noted("rows in", rows.rowsIn),
    within("rows out", rows.rowsOut, String(rows.rowsIn), rows.rowsOut === rows.rowsIn),
    none("rows lost", rows.lost),
    none("duplicates", rows.duplicates),
    none("rows out of place", rows.misplaced),
    none("wrong verdicts of rows", rows.wrong.length),
    undecided("rows undecided without faults", calmRows),
  ];
  return { findings, details: [...rows.unfinished, ...refusedLists, ...rows.wrong] };
}

function charges({ single, capped, bulk, rows, wrongSingles, calmSingles }: Storm): Judgement {
  const interval = ({ asker: { charged, cutOff }, ledger: { written } }: Account) =>
    chargeInterval({ charged, cutOff, written });
  const about = ({ least, most }: { least: number; most: number }) =>
    least === most ? String(least) : `${least} to ${most}`;
  const wrong =
    wrongCharge(single.ledger.used, interval(single)) +
    wrongCharge(capped.ledger.used, interval(capped)) +
    Math.abs(bulk.used - rows.units);
  const refusals = [...single.asker.refused, ...capped.asker.refused].map(
    ([name, count]) => `${name}: ${count}`,
  );
  return {
    findings: [
      noted("charged for lists", `${bulk.used}, due ${rows.units}`),
      noted("charged for singles", `${single.ledger.used}, due ${about(interval(single))}`),
      noted("charged for singles, capped", `${capped.ledger.used}, due ${about(interval(capped))}`),
      none("wrong charges", wrong),
      within(
        "used under a limit",
        `${capped.ledger.used}, ${capped.asker.overQuota} refused`,
        `at most ${capped.limit}`,
        Math.max(capped.ledger.used, capped.asker.charged) <= capped.limit,
      ),
      none("singles refused for no reason", refusals.length),
      none("wrong verdicts of singles", wrongSingles.length),
      undecided("singles undecided without faults", calmSingles),
    ],
    details: [...refusals, ...wrongSingles],
  };
}

function ends({ untold, badlySigned, deliveries, settledS, leftovers, crashes }: Storm): Judgement {
  const left = Object.entries(leftovers).filter(([, count]) => count > 0);
  return {
    findings: [
      noted("webhook deliveries", deliveries),
      none("jobs whose end was not told", untold),
      none("deliveries signed wrongly", badlySigned),
      within(
        "settled",
        settledS === null ? "no" : `${settledS.toFixed(1)} s`,
        `within ${SETTLED_WITHIN_MS / 1_000} s`,
        settledS !== null,
      ),
      none("left over", left.length),
      none("processes that ended by themselves", crashes.length),
    ],
    details: [...left.map(([name, count]) => `left over: ${count} ${name}`), ...crashes],
  };
}

const show = ({ rssMb, descriptors, threads }: Resources) => `${rssMb} MB ${descriptors} fd ${threads} thr`;

function resources({ resources: { before, peaks, after }, descriptors }: Storm): Judgement {
  const grown: string[] = [];
  const held: string[] = [];
  const lines = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    const was = before.get(name);
    const now = after.get(name);
    if (was === undefined || now === undefined) {
      grown.push(`${name}: was not there ${was === undefined ? "before" : "in the end"}`);
      return noted(`  ${name}`, "not to be compared");
    }
    const more = growthOf(name, was, now);
    grown.push(...more);
    if (more.length > 0) held.push(`${name} holds ${descriptors.get(name) ?? "nothing"}`);
    const peak = peaks.get(name) ?? now;
    return noted(`  ${name}`, `${show(was)} -> peak ${show(peak)} -> ${show(now)}`);
  });
  const bound = `x${GROWTH.rssShare} + ${GROWTH.rssMb} MB, + ${GROWTH.descriptors} fd, + ${GROWTH.threads} thr`;
  return {
    findings: [
      noted("memory, descriptors, threads", "before -> peak -> after the same work"),
      ...lines,
      within(
        "processes that grew",
        grown.length,
        `0 by more than ${bound}`,
        after.size > 0 && grown.length === 0,
      ),
    ],
    details: [...grown, ...held],
  };
}

/** Every bound of a storm. */
export function judgeStorm(storm: Storm): Judgement {
  const parts = [
    requests(storm),
    faultCounts(storm),
    rows(storm),
    charges(storm),
    ends(storm),
    judgeStorage(storm.hourLater),
    resources(storm),
  ];
  return {
    findings: parts.flatMap(({ findings }) => findings),
    details: parts.flatMap(({ details }) => details),
  };
}
