import { type Finding, none, noted, voided, within } from "../verdict/closing.ts";
import { type Burst, type Latencies, ONSET_MS, type TeamCounts } from "./flood.ts";
import type { Overload } from "./overload.ts";

/**
 * Bound on an accepted request's p99 under overload: this many times the p99 without, at least `ms`, never more than
 * `mostMs`.
 */
const LATENCY = { times: 5, ms: 500, mostMs: 1_000 } as const;
const REFUSED_WITHIN_MS = 500;
/**
 * Bound for requests of the first second, before admission control measures the queue: it admits as many as a healthy
 * process takes, and a slow one must work these off while it refuses all others.
 */
const ONSET_WITHIN_MS = 1_000;
const SMALL = "small";
/** Most that may be refused of a team far below its share. */
const SMALL_REFUSED = 0.05;
/** Most that a burst may send requests late: beyond it the figures say nothing about the service. */
const LATE_MS = 100;
/** See `goodput`. */
const EVEN_SHARE = 0.2;
const REFUSALS_A_CHECK = 8;
/** Largest share of undecided answers in a burst. */
const UNDECIDED = 0.01;
/** If the process was less busy than this, its capacity is unknown: the client or a dependency was the bottleneck. */
const CAPACITY_BUSY = 0.85;
const MEMORY_MB = 400;
const DESCRIPTORS = 50;
const FINE = /^(200|429|503)/;

const boundOf = ({ all }: Burst) =>
  Math.min(LATENCY.mostMs, Math.max(LATENCY.ms, all.accepted.p99Ms * LATENCY.times));

function strangeIn(...bursts: Burst[]): number {
  const counts = bursts.flatMap(({ all }) => Object.entries(all.counts));
  return counts.filter(([how]) => !FINE.test(how)).reduce((sum, [, count]) => sum + count, 0);
}

const countsOf = ({ counts }: TeamCounts) =>
  Object.entries(counts)
    .map(([how, count]) => `${how}: ${count}`)
    .join(", ");

/** Sent so late that the figures say as much about the sender as about the service. */
const isVoid = ({ lateP99Ms }: Burst) => lateP99Ms > LATE_MS;

function sending(name: string, burst: Burst): Finding {
  const served = (burst.all.accepted.count + burst.all.refused.count) / burst.tookS;
  const said = `${burst.lateP99Ms} ms; ${Math.round(served)}/s were answered in ${burst.tookS.toFixed(1)} s`;
  return noted(`  ${name}: sent late, p99`, isVoid(burst) ? `${said}: void` : said);
}

/** Marks findings as void where the burst or the measured capacity is: neither held nor missed. */
function unlessVoid(burst: Burst, { capacityBusy }: Overload, findings: Finding[]): Finding[] {
  return isVoid(burst) || capacityBusy < CAPACITY_BUSY
    ? findings.map(({ name, value }) => voided(name, value))
    : findings;
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

/** CPU that a request cost the process, accepted or refused. */
function cost(name: string, { all: { accepted, refused } }: Burst, cpuMs: number): Finding {
  const each = (cpuMs * 1_000) / Math.max(1, accepted.count + refused.count);
  return noted(`  ${name}: CPU`, `${cpuMs} ms, ${each.toFixed(1)} us a request`);
}

/**
 * Accepted requests of the teams that ask for too much, after the first second, over the whole time that answering
 * took. A refusal costs an eighth to a tenth of a check here. So the bound is half of the capacity that refusals leave,
 * and at least a fifth of an even share.
 */
function goodput(name: string, ofTeams: readonly TeamCounts[], { tookS }: Burst, found: Overload): Finding {
  const { capacityPerS, perS: askedPerS } = found;
  const counts = ofTeams.map(({ sustained }) => sustained?.count ?? 0);
  const perS = counts.reduce((sum, count) => sum + count, 0) / (tookS - ONSET_MS / 1_000);
  const times = askedPerS / capacityPerS;
  const leastPerS = capacityPerS * Math.max(EVEN_SHARE / times, (1 - times / REFUSALS_A_CHECK) / 2);
  return within(
    `  ${name}: accepted`,
    `${Math.round(perS)}/s`,
    `${Math.ceil(leastPerS)}/s, of each some`,
    perS >= leastPerS && counts.every((count) => count > 0),
  );
}

/** Largest share of answers with 200 that said `unknown` for lack of time. */
function undecided({ calm, closed, flood, limited, after }: Overload): Finding {
  const shares = [calm, closed, flood, limited, after].map(
    ({ all: { counts, accepted } }) => (counts["200 deadline"] ?? 0) / Math.max(1, accepted.count),
  );
  const most = Math.max(...shares);
  const percent = `${Math.round(most * 1_000) / 10} %`;
  return within("  200, but undecided, at most", percent, `${UNDECIDED * 100} %`, most <= UNDECIDED);
}

function smallTeam({ flood }: Overload): Finding {
  const { accepted, refused } = flood.teams[SMALL] ?? flood.all;
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
  const { perS, calm, closed, capacityPerS, capacityBusy, flood, limited, after, crashed } = found;
  const boundMs = boundOf(calm);
  const crowd = Object.entries(flood.teams).flatMap(([name, team]) => (name === SMALL ? [] : [team]));
  const afterMs = after.all.accepted.p99Ms;
  return [
    noted(
      "overload: capacity",
      `${capacityPerS}/s, ${Math.round(capacityBusy * 100)} % busy; ${perS}/s asked: ${(perS / capacityPerS).toFixed(1)} times`,
    ),
    noted("  without load, p99", `${calm.all.accepted.p99Ms} ms`),
    ...Object.entries(flood.teams).map(([name, team]) => noted(`  no rate limit: ${name}`, countsOf(team))),
    cost("no rate limit", flood, found.floodCpuMs),
    sending("no rate limit", flood),
    ...unlessVoid(flood, found, [
      goodput("no rate limit", crowd, flood, found),
      ...latencies("no rate limit", flood, boundMs),
      smallTeam(found),
    ]),
    none("  not one refused", flood.all.refused.count === 0 ? 1 : 0),
    noted("  rate limit of half of it", countsOf(limited.all)),
    cost("rate limit", limited, found.limitedCpuMs),
    sending("rate limit", limited),
    ...unlessVoid(limited, found, [
      goodput("rate limit", [limited.all], limited, found),
      ...latencies("rate limit", limited, boundMs),
    ]),
    noted("  afterwards", countsOf(after.all)),
    within(
      "  afterwards, p99",
      `${afterMs} ms of ${after.all.accepted.count}`,
      `${boundMs} ms`,
      after.all.accepted.count > 0 && afterMs <= boundMs,
    ),
    none("  neither 200 nor 429 nor 503", strangeIn(calm, closed, flood, limited, after)),
    none(
      "  refused without overload",
      after.all.refused.count + calm.all.refused.count + closed.all.refused.count,
    ),
    undecided(found),
    resources(found),
    none("  crashes", crashed ? 1 : 0),
  ];
}
