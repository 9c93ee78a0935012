import { type Finding, none, told, voided, within } from "../verdict/closing.ts";
import { type Burst, type Latencies, ONSET_MS, type TeamCounts } from "./burst-order.ts";
import type { Overload } from "./overload.ts";

/** An answer under overload may take so many times as long as without, or this. */
const LATENCY = { times: 5, ms: 500 } as const;
const REFUSED_WITHIN_MS = 500;
/**
 * For who is let in before the first looks at the house: as many as a healthy one takes at once, of whom a slow one has to
 * make its way while it refuses all others.
 */
const ONSET_WITHIN_MS = 1_000;
/** Of what a team asks for with far less than its share. */
const SMALL_REFUSED = 0.05;
/** That a burst may hand requests over later than they are due: with more the figures say nothing of the service. */
const LATE_MS = 100;
const LEAST_GOODPUT = 0.5;
const MEMORY_MB = 400;
const DESCRIPTORS = 50;
const FINE = /^(200|429|503)/;

const boundOf = ({ all }: Burst) => Math.max(LATENCY.ms, all.accepted.p99Ms * LATENCY.times);

function strangeIn(...bursts: Burst[]): number {
  const counts = bursts.flatMap(({ all }) => Object.entries(all.counts));
  return counts.filter(([how]) => !FINE.test(how)).reduce((sum, [, count]) => sum + count, 0);
}

const countsOf = ({ counts }: TeamCounts) =>
  Object.entries(counts)
    .map(([how, count]) => `${how}: ${count}`)
    .join(", ");

/** What it measured says as much of it as of the service. */
const isVoid = ({ lateP99Ms }: Burst) => lateP99Ms > LATE_MS;

function sending(name: string, burst: Burst): Finding {
  const served = (burst.all.accepted.count + burst.all.refused.count) / burst.tookS;
  const said = `${burst.lateP99Ms} ms; ${Math.round(served)}/s were answered in ${burst.tookS.toFixed(1)} s`;
  return told(`  ${name}: sent late, p99`, isVoid(burst) ? `${said}: void` : said);
}

/** What a void burst measured is told, neither held nor missed. */
function unlessVoid(burst: Burst, findings: Finding[]): Finding[] {
  return isVoid(burst) ? findings.map(({ name, value }) => voided(name, value)) : findings;
}

function latencies(name: string, { onset, sustained, all: { refused } }: Burst, boundMs: number): Finding[] {
  const acceptedWithin = (when: string, { p99Ms, count }: Latencies, ms: number) =>
    within(
      `  ${name}: accepted${when}, p99`,
      `${p99Ms} ms of ${count}`,
      `${ms} ms`,
      count > 0 && p99Ms <= ms,
    );
  return [
    acceptedWithin(" in the first second", onset, Math.max(ONSET_WITHIN_MS, boundMs)),
    acceptedWithin("", sustained, boundMs),
    within(
      `  ${name}: refused, p99`,
      `${refused.p99Ms} ms of ${refused.count}`,
      `${REFUSED_WITHIN_MS} ms, and some are`,
      refused.count > 0 && refused.p99Ms <= REFUSED_WITHIN_MS,
    ),
  ];
}

/** What a request cost the process, whatever became of it. */
function cost(name: string, { all: { accepted, refused } }: Burst, cpuMs: number): Finding {
  const each = (cpuMs * 1_000) / Math.max(1, accepted.count + refused.count);
  return told(`  ${name}: CPU`, `${cpuMs} ms, ${each.toFixed(1)} us a request`);
}

/**
 * After the first second, over all the time that it took to answer, not only while requests fell due. Of so many times the
 * capacity half as many parts of it: at ten times refusals alone take nearly all that there is CPU for, as ten of them cost as much as
 * one check.
 */
function goodput({ flood: { sustained, tookS }, capacityPerS, perS: askedPerS }: Overload): Finding {
  const perS = sustained.count / (tookS - ONSET_MS / 1_000);
  const leastPerS = LEAST_GOODPUT * (capacityPerS ** 2 / askedPerS);
  return within(
    "  no rate limit: accepted",
    `${Math.round(perS)}/s`,
    `${Math.ceil(leastPerS)}/s`,
    perS >= leastPerS,
  );
}

function smallTeam({ flood }: Overload): Finding {
  const { accepted, refused } = flood.teams.small ?? flood.all;
  const asked = accepted.count + refused.count;
  return within(
    "  a small team beside it: refused",
    `${refused.count} of ${asked}`,
    `${SMALL_REFUSED * 100} %`,
    accepted.count > 0 && refused.count <= SMALL_REFUSED * asked,
  );
}

function resources({ before, peak, final }: Overload): Finding {
  const of = ({ rssMb, descriptors }: Overload["before"]) => `${rssMb} MB ${descriptors} fd`;
  return within(
    "  memory, descriptors",
    `${of(before)} -> peak ${of(peak)} -> ${of(final)}`,
    `peak ${before.rssMb + MEMORY_MB} MB, final ${before.descriptors + DESCRIPTORS} fd`,
    peak.rssMb <= before.rssMb + MEMORY_MB && final.descriptors <= before.descriptors + DESCRIPTORS,
  );
}

/** Every bound of the overload. */
export function judgeOverload(found: Overload): Finding[] {
  const { perS, calm, capacityPerS, capacityBusy, flood, limited, after, crashed } = found;
  const boundMs = boundOf(calm);
  const afterMs = after.all.accepted.p99Ms;
  return [
    told(
      "overload: capacity",
      `${capacityPerS}/s, ${Math.round(capacityBusy * 100)} % busy; ${perS}/s asked: ${(perS / capacityPerS).toFixed(1)} times`,
    ),
    told("  without load, p99", `${calm.all.accepted.p99Ms} ms`),
    ...Object.entries(flood.teams).map(([name, team]) => told(`  no rate limit: ${name}`, countsOf(team))),
    cost("no rate limit", flood, found.floodCpuMs),
    sending("no rate limit", flood),
    ...unlessVoid(flood, [goodput(found), ...latencies("no rate limit", flood, boundMs), smallTeam(found)]),
    none("  not one refused", flood.all.refused.count === 0 ? 1 : 0),
    told("  rate limit of half of it", countsOf(limited.all)),
    cost("rate limit", limited, found.limitedCpuMs),
    sending("rate limit", limited),
    ...unlessVoid(limited, latencies("rate limit", limited, boundMs)),
    told("  afterwards", countsOf(after.all)),
    within(
      "  afterwards, p99",
      `${afterMs} ms of ${after.all.accepted.count}`,
      `${boundMs} ms`,
      after.all.accepted.count > 0 && afterMs <= boundMs,
    ),
    none("  neither 200 nor 429 nor 503", strangeIn(calm, flood, limited, after)),
    none("  refused without overload", after.all.refused.count + calm.all.refused.count),
    resources(found),
    none("  crashes", crashed ? 1 : 0),
  ];
}
