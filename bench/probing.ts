import { type Child, startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, interleave, type Sample, type Subject, type Summary } from "./figures.ts";
import { CONNECTIONS, CONNECTIONS_PER_SITE, DOMAINS, SITES } from "./plan.ts";
import { ADDRESSES_PER_BATCH, BATCHES_IN_FLIGHT } from "./probe-batches.ts";
import type { BareClient } from "./processes/bare-client.ts";
import type { EngineProcess } from "./processes/engine.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import { type Line, ratio, type Section } from "./table.ts";
import type { Target } from "./target.ts";

const ROUNDS = 3;
const DEEP = 10;

/** Addresses a run, so that each takes two or three seconds on a small machine; the first, which warms up, as many. */
const COUNTS = {
  0: { one: 120_000, deep: 300_000, bareOne: 120_000, bareDeep: 500_000, perAddress: 12_000 },
  20: { one: 25_000, deep: 200_000, bareOne: 25_000, bareDeep: 200_000, perAddress: 6_000 },
} as const;
/** A quick run has a quarter of that, once. */
const QUICK_SHARE = 4;

type Counts = Record<keyof (typeof COUNTS)[0], number>;

/**
 * How the engine is told to treat the sites. A bare client never leaves a session, so to be compared with it the engine
 * may keep its own for as long as settings let it; the shipped limits (8 refusals, 100 addresses) are shown beside.
 */
const KEPT = { transactionsPerSession: 10_000, rejectionsPerSession: 1_000 };
const SHAPINGS = {
  one: { default: { ...KEPT, pipelineDepthMax: 1 } },
  deep: { default: { ...KEPT, pipelineDepthMax: DEEP } },
  shipped: null,
} as const;
type Shaping = keyof typeof SHAPINGS;
const SHAPING_NAMES = Object.keys(SHAPINGS) as Shaping[];

/** What of a ceiling has to be reached: `perAddress` as a multiple, `bare` as a share. */
const LEAST = { one: { perAddress: 8, bare: 0.9 }, deep: { perAddress: 20, bare: 0.85 } } as const;

interface Processes {
  mail: Child<MailServers>;
  bare: Child<BareClient>;
  port: number;
}

/** Domains of its own for each engine in each round: what one knows of strangers another must not be spared. */
function runOf(shaping: Shaping, round: number): number {
  return SHAPING_NAMES.indexOf(shaping) * (ROUNDS + 1) + round;
}

/**
 * The whole engine, threads, classification, evidence and catch-all question included, against clients that only talk:
 * with as many connections and as many addresses a write, and with a connection for each address, as other verifiers do
 * it (without their random address, in their favour).
 */
export async function benchProbing(context: BenchContext, latencyMs: keyof typeof COUNTS): Promise<Section> {
  const counts = countsOf(context, latencyMs);
  return withChildren(async (keep) => {
    const mail = keep(await startChild<MailServers>("mail-servers", context));
    const runs = Array.from({ length: SHAPING_NAMES.length * (ROUNDS + 1) }, (_, run) => run);
    const world = await mail.call("start", { latencyMs, runs });
    const bare = keep(await startChild<BareClient>("bare-client", context));
    const processes = { mail, bare, port: world.smtpPort };
    const sessions: number[] = [];
    const subjects: Subject[] = [];
    let threads = 0;
    for (const shaping of SHAPING_NAMES) {
      const engine = keep(await startChild<EngineProcess>("engine", context));
      const own = SHAPINGS[shaping];
      // Each has the caps for itself: the others, which rest, would hold on to connections of theirs.
      const egress = { EGRESS_ID: `bench-${shaping}` };
      const settings = {
        ...settingsFor(context, world),
        ...egress,
        ...(own && { SHAPING: JSON.stringify(own) }),
      };
      ({ threads } = await engine.call("start", settings));
      const heard = shaping === "shipped" ? sessions : [];
      const count = shaping === "one" ? counts.one : counts.deep;
      subjects.push(probing(processes, engine, { shaping, count, sessions: heard }));
    }
    subjects.push(
      bareSubject("bare, one a write", (run) =>
        bare.call("pooled", { run, count: counts.bareOne, depth: 1, port: world.smtpPort }),
      ),
      bareSubject(`bare, ${DEEP} a write`, (run) =>
        bare.call("pooled", { run, count: counts.bareDeep, depth: DEEP, port: world.smtpPort }),
      ),
      bareSubject("connection per address", (run) =>
        bare.call("perAddress", { run, count: counts.perAddress, port: world.smtpPort }),
      ),
    );
    const rounds = context.quick ? 1 : ROUNDS;
    const [one, deep, shipped, bareOne, bareDeep, perAddress] = await interleave(subjects, rounds);
    if (!one || !deep || !shipped || !bareOne || !bareDeep || !perAddress)
      throw new InvalidRun("a subject is missing");
    const figures = { one, deep, shipped, bareOne, bareDeep, perAddress };
    return {
      title: `Probing, ${latencyMs} ms a round trip`,
      configuration: configurationOf(counts, threads, rounds),
      unit: "addresses",
      lines: linesOf(figures),
      targets: latencyMs === 0 ? atNoDelay(figures) : atDelay(figures),
      notes: [
        `with the shipped limits the engine opened ${sessions.join(", ")} connections in its runs`,
        "all sinks share one process on the same cores: where a client is less busy than a core, they or the delay are its bound",
      ],
    };
  });
}

function countsOf({ quick }: BenchContext, latencyMs: keyof typeof COUNTS): Counts {
  const counts: Counts = { ...COUNTS[latencyMs] };
  if (quick) for (const key of Object.keys(counts) as (keyof Counts)[]) counts[key] /= QUICK_SHARE;
  return counts;
}

function configurationOf(counts: Counts, threads: number, rounds: number): string[] {
  const { one, deep, bareOne, bareDeep, perAddress } = counts;
  return [
    `${SITES} sites with ${CONNECTIONS_PER_SITE} connections each (the default of shaping.json): ${CONNECTIONS} for every client; no TLS`,
    `engine: ${threads} threads; ${one} addresses at depth 1, ${deep} at depth ${DEEP}, of ${DOMAINS} new domains a run, 1 in 10 missing`,
    `fed by checkBatch as jobs are: ${BATCHES_IN_FLIGHT} batches of ${ADDRESSES_PER_BATCH} patient rows at a time`,
    `SHAPING: ${KEPT.rejectionsPerSession} refusals and ${KEPT.transactionsPerSession} addresses a session, as bare clients keep theirs; "as shipped" 8 and 100`,
    `bare: ${bareOne} one a write (MAIL, RCPT, RSET), ${bareDeep} ${DEEP} a write, ${perAddress} a connection each; medians of ${rounds} runs by turns`,
  ];
}

type Figures = Record<"one" | "deep" | "shipped" | "bareOne" | "bareDeep" | "perAddress", Summary>;

function linesOf({ one, deep, shipped, bareOne, bareDeep, perAddress }: Figures): Line[] {
  const ratios = (of: Summary, ceiling: Summary, name: string) => [
    `${ratio(of.perS, perAddress.perS, "connection per address")} (${ratio(perAddress.cpuUs, of.cpuUs, "in CPU")})`,
    `${ratio(of.perS, ceiling.perS, name)} (${ratio(ceiling.cpuUs, of.cpuUs, "in CPU")})`,
  ];
  const deepName = `bare, ${DEEP} a write`;
  return [
    { name: "engine, depth 1", figures: one, ratios: ratios(one, bareOne, "bare, one a write") },
    { name: `engine, depth ${DEEP}`, figures: deep, ratios: ratios(deep, bareDeep, deepName) },
    { name: "engine, as shipped", figures: shipped, ratios: ratios(shipped, bareDeep, deepName) },
    { name: "bare, one a write", figures: bareOne, ratios: ["ceiling of depth 1"] },
    { name: deepName, figures: bareDeep, ratios: [`ceiling of depth ${DEEP}`] },
    { name: "connection per address", figures: perAddress, ratios: ["what others do"] },
  ];
}

function atNoDelay({ one, deep, perAddress }: Figures): Target[] {
  const unit = "× connection per address";
  return [
    {
      id: "probing.depth1.nodelay",
      what: "engine, one address a write, no delay",
      unit,
      figure: one.perS / perAddress.perS,
      atLeast: LEAST.one.perAddress,
    },
    {
      id: "probing.depth10.nodelay",
      what: `engine, up to ${DEEP} addresses a write, no delay`,
      unit,
      figure: deep.perS / perAddress.perS,
      atLeast: LEAST.deep.perAddress,
    },
  ];
}

function atDelay({ one, deep, bareOne, bareDeep }: Figures): Target[] {
  const unit = "× bare client of the same depth";
  return [
    {
      id: "probing.depth1.20ms",
      what: "engine, one address a write, 20 ms a round trip",
      unit,
      figure: one.perS / bareOne.perS,
      atLeast: LEAST.one.bare,
    },
    {
      id: "probing.depth10.20ms",
      what: `engine, up to ${DEEP} addresses a write, 20 ms a round trip`,
      unit,
      figure: deep.perS / bareDeep.perS,
      atLeast: LEAST.deep.bare,
    },
  ];
}

function probing(
  { mail }: Processes,
  engine: Child<EngineProcess>,
  { shaping, count, sessions }: { shaping: Shaping; count: number; sessions: number[] },
): Subject {
  return {
    async run(round): Promise<Sample> {
      await mail.call("quiet");
      const { sample, wrong } = await engine.call("probe", { run: runOf(shaping, round), count });
      // Cold and on a busy machine, the sinks may be so late that the engine takes its own network for dead.
      if (round === 0) return sample;
      requireRight("engine", wrong);
      const { connections, recipients, maxOpenPerSite } = await mail.call("account");
      // Each address, and one that nobody has for each domain.
      if (recipients < count + DOMAINS)
        throw new InvalidRun(`engine: ${recipients} questions for ${count} addresses of ${DOMAINS} domains`);
      // A connection that we have closed may be open to the server for a moment longer.
      if (maxOpenPerSite > CONNECTIONS_PER_SITE + 1)
        throw new InvalidRun(`engine: ${maxOpenPerSite} connections to one site`);
      sessions.push(connections);
      return sample;
    },
  };
}

type BareRun = (run: number) => Promise<{ sample: Sample; wrong: number }>;

function bareSubject(name: string, ask: BareRun): Subject {
  return {
    async run(round): Promise<Sample> {
      const { sample, wrong } = await ask(round);
      requireRight(name, wrong);
      return sample;
    },
  };
}
