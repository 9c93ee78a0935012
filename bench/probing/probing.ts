import type { BareClient } from "../processes/bare-client.ts";
import type { EngineProcess } from "../processes/engine.ts";
import type { MailServers } from "../processes/mail-servers.ts";
import { InvalidRun, interleave, type Sample, type Subject, type Summary } from "../report/figures.ts";
import { type Line, ratio, type Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type Child, startChild } from "../setup/child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "../setup/context.ts";
import { startMail } from "../sinks/mail.ts";
import { CONNECTIONS, CONNECTIONS_PER_SITE, DOMAINS, SITES } from "./plan.ts";
import { planInternet } from "./plan-internet.ts";
import { ADDRESSES_PER_BATCH, BATCHES_IN_FLIGHT } from "./probe-batches.ts";

const ROUNDS = 3;
const DEEP = 10;

interface Counts {
  one: number;
  deep: number;
  /** 0: it is left out. */
  shipped: number;
  bareOne: number;
  bareDeep: number;
  perAddress: number;
}

/**
 * Addresses a run, by round trip. A run lasts three or four seconds on a small machine. It begins without connections
 * and with unknown domains, which is a third of a second of round trips at 20 ms; that must be small beside the steady
 * state. A quick run shows the trend.
 */
const COUNTS: Record<"full" | "quick", Record<0 | 20, Counts>> = {
  full: {
    0: {
      one: 100_000,
      deep: 400_000,
      shipped: 400_000,
      bareOne: 90_000,
      bareDeep: 500_000,
      perAddress: 9_000,
    },
    20: {
      one: 28_000,
      deep: 300_000,
      shipped: 300_000,
      bareOne: 28_000,
      bareDeep: 300_000,
      perAddress: 3_000,
    },
  },
  quick: {
    0: {
      one: 50_000,
      deep: 120_000,
      shipped: 120_000,
      bareOne: 40_000,
      bareDeep: 120_000,
      perAddress: 6_000,
    },
    20: { one: 16_000, deep: 120_000, shipped: 120_000, bareOne: 16_000, bareDeep: 120_000, perAddress: 600 },
  },
};
/** Warm-up of a subject, as a part of its run. */
const WARM_SHARE = 3;
/**
 * Domains that warm an engine up. Handling unknown domains is most of a run's first second, and as few as a run has do
 * not warm that code up: V8's compiler took a seventh of the CPU of each of the next four runs.
 */
const WARM_DOMAINS = 1_000;

/**
 * Shaping of the sites. A bare client never ends a session. To be compared with it, the engine may keep its sessions
 * for as long as settings allow. As shipped, it learns how long a site allows.
 */
const KEPT = { transactionsPerSession: 10_000, rejectionsPerSession: 1_000 };
const SHAPINGS = {
  one: { default: { ...KEPT, pipelineDepthMax: 1 } },
  deep: { default: { ...KEPT, pipelineDepthMax: DEEP } },
  shipped: null,
} as const;
type Shaping = keyof typeof SHAPINGS;
/** Each engine has sites of its own, so that none waits for connections that another left open. */
const WORLDS = Object.keys(SHAPINGS) as Shaping[];

/** Bounds relative to a ceiling: `perAddress` as a multiple, `bare` as a share. */
const LEAST = {
  one: { perAddress: 8, bare: 0.9 },
  deep: { perAddress: 20, bare: 0.85 },
  shipped: 0.8,
} as const;

interface Processes {
  mail: Child<MailServers>;
  bare: Child<BareClient>;
  port: number;
}

/** Domains of its own for each engine in each round: what one knows of strangers another must not be spared. */
function runOf(shaping: Shaping, round: number): number {
  return WORLDS.indexOf(shaping) * (ROUNDS + 1) + round;
}

function runsOf(shaping: Shaping): number[] {
  return Array.from({ length: ROUNDS + 1 }, (_, round) => runOf(shaping, round));
}

/**
 * The whole engine, with threads, classification, evidence and catch-all probes, against clients that only send
 * commands: with as many connections and as many addresses a write; and with a connection for each address, as other
 * verifiers do it (without their catch-all probe, in their favour).
 */
export async function benchProbing(context: BenchContext, latencyMs: 0 | 20): Promise<Section> {
  const counts = COUNTS[context.quick ? "quick" : "full"][latencyMs];
  const rounds = context.quick ? 1 : ROUNDS;
  return withChildren(async (keep) => {
    const internet = planInternet({ worlds: WORLDS.map(runsOf), domains: WARM_DOMAINS });
    const [world, bare] = await Promise.all([
      startMail(context, keep, internet, { latencyMs, recipientMs: 0 }),
      startChild<BareClient>("bare-client", context).then(keep),
    ]);
    const processes = { mail: world.mail, bare, port: world.smtpPort };
    const shapings = WORLDS.filter((shaping) => counts[shaping] > 0);
    const engines = await Promise.all(
      shapings.map((shaping) => startEngine(shaping, settingsFor(context, world), context, keep)),
    );
    const sessions: number[] = [];
    const subjects = engines.map(({ engine }, i) => {
      const shaping = shapings[i] ?? "one";
      const heard = shaping === "shipped" ? sessions : [];
      return probing(processes, engine, { shaping, count: counts[shaping], sessions: heard });
    });
    const summaries = await interleave([...subjects, ...bareSubjects(processes, counts)], rounds);
    const [one, deep] = summaries;
    const [bareOne, bareDeep, perAddress] = summaries.slice(engines.length);
    if (!one || !deep || !bareOne || !bareDeep || !perAddress) throw new InvalidRun("a subject is missing");
    const shipped = engines.length > 2 ? summaries[2] : undefined;
    const figures = { one, deep, bareOne, bareDeep, perAddress, ...(shipped && { shipped }) };
    return {
      title: `Probing, ${latencyMs} ms a round trip`,
      configuration: [
        ...configurationOf(counts, engines[0]?.threads ?? 0, rounds),
        `mail servers: one process of ${world.sinksRunOn} on the same cores`,
      ],
      unit: "addresses",
      lines: linesOf(figures),
      targets: latencyMs === 0 ? atNoDelay(figures) : atDelay(figures),
      notes: [
        ...(shipped
          ? [`with the shipped limits the engine opened ${sessions.join(", ")} connections in its runs`]
          : []),
        "where a client is less busy than a core, the mail servers or the delay are its bound",
      ],
    };
  });
}

async function startEngine(
  shaping: Shaping,
  settings: Record<string, string>,
  context: BenchContext,
  keep: <C extends { end(): Promise<void> }>(child: C) => C,
): Promise<{ engine: Child<EngineProcess>; threads: number }> {
  const engine = keep(await startChild<EngineProcess>("engine", context));
  const own = SHAPINGS[shaping];
  const { threads } = await engine.call("start", {
    ...settings,
    // Each has the caps for itself: the others, which rest, would hold on to connections of theirs.
    EGRESS_ID: `bench-${shaping}`,
    ...(own && { SHAPING: JSON.stringify(own) }),
  });
  return { engine, threads };
}

function bareSubjects({ bare, port }: Processes, counts: Counts): Subject[] {
  const pooled = (depth: number, most: number) => (run: number) =>
    bare.call("pooled", { run, count: countIn(run, most), depth, port });
  return [
    bareSubject("bare, one a write", pooled(1, counts.bareOne)),
    bareSubject(`bare, ${DEEP} a write`, pooled(DEEP, counts.bareDeep)),
    bareSubject("connection per address", (run) =>
      bare.call("perAddress", { run, count: countIn(run, counts.perAddress), port }),
    ),
  ];
}

/** Round 0 warms up. */
function countIn(round: number, count: number): number {
  return round === 0 ? Math.ceil(count / WARM_SHARE) : count;
}

function configurationOf(counts: Counts, threads: number, rounds: number): string[] {
  const { one, deep, shipped, bareOne, bareDeep, perAddress } = counts;
  return [
    `${SITES} sites with ${CONNECTIONS_PER_SITE} connections each (the default of shaping.json): ${CONNECTIONS} for every client; no TLS`,
    `engine: ${threads} threads; ${one} addresses at depth 1, ${deep} at depth ${DEEP}, ${shipped} as shipped, of ${DOMAINS} new domains a run, 1 in 10 missing`,
    `fed by checkBatch as jobs are: ${BATCHES_IN_FLIGHT} batches of ${ADDRESSES_PER_BATCH} patient rows at a time, cut by domain`,
    `SHAPING: ${KEPT.rejectionsPerSession} refusals and ${KEPT.transactionsPerSession} addresses a session, as bare clients keep theirs; "as shipped" as long as the servers, which do not say what they are, show that they allow`,
    `bare: ${bareOne} one a write (MAIL, RCPT, RSET), ${bareDeep} ${DEEP} a write, ${perAddress} a connection each; medians of ${rounds} runs by turns`,
  ];
}

type Figures = Record<"one" | "deep" | "bareOne" | "bareDeep" | "perAddress", Summary> & {
  shipped?: Summary;
};

function linesOf({ one, deep, shipped, bareOne, bareDeep, perAddress }: Figures): Line[] {
  const ratios = (of: Summary, ceiling: Summary, name: string) => [
    `${ratio(of.perS, perAddress.perS, "connection per address")} (${ratio(perAddress.cpuUs, of.cpuUs, "in CPU")})`,
    `${ratio(of.perS, ceiling.perS, name)} (${ratio(ceiling.cpuUs, of.cpuUs, "in CPU")})`,
  ];
  const deepName = `bare, ${DEEP} a write`;
  return [
    { name: "engine, depth 1", figures: one, ratios: ratios(one, bareOne, "bare, one a write") },
    { name: `engine, depth ${DEEP}`, figures: deep, ratios: ratios(deep, bareDeep, deepName) },
    ...(shipped
      ? [{ name: "engine, as shipped", figures: shipped, ratios: ratios(shipped, bareDeep, deepName) }]
      : []),
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

function atDelay({ one, deep, shipped, bareOne, bareDeep }: Figures): Target[] {
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
    {
      id: "probing.shipped.20ms",
      what: "engine as shipped, 1 in 10 missing, 20 ms a round trip",
      unit: "× the same with unlimited sessions",
      figure: shipped === undefined ? null : shipped.perS / deep.perS,
      atLeast: LEAST.shipped,
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
      const ours = { from: WORLDS.indexOf(shaping) * SITES, count: SITES };
      await mail.call("quiet", ours);
      const asked = countIn(round, count);
      const domains = round === 0 ? WARM_DOMAINS : DOMAINS;
      const run = runOf(shaping, round);
      const { sample, wrong } = await engine.call("probe", { run, count: asked, domains });
      // Cold and on a busy machine, the sinks may be so late that the engine takes its own network for dead.
      if (round === 0) return sample;
      requireRight("engine", wrong);
      const { connections, recipients, maxOpenPerSite } = await mail.call("account", ours);
      // Each address, and a catch-all probe for each domain.
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
