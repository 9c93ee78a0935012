import { busyShareOf, busyWithin, cpuBetween, idleReason } from "../cpu/busy.ts";
import { InvalidRun, interleave, median, type Subject, type Summary, sampleOf } from "../report/figures.ts";
import { type Line, ratio, type Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type BenchContext, requireRight, withChildren } from "../setup/context.ts";
import { pinBehind } from "../setup/pin.ts";
import { startServices } from "../setup/services.ts";
import { createCleanState } from "../setup/state.ts";
import { type Asked, lateNotes, unlessLate } from "./closed-loop.ts";
import { ADDRESSES, type HttpWorld, OPEN_WARM_S, type Server, startHttpWorld, TEAMS } from "./http-world.ts";
import { findLoadTools, type LoadTools } from "./load-tools.ts";
import { type OpenRun, tailRatio } from "./open-loop.ts";
import { countTouched } from "./touched.ts";

const TITLE = "Cached GET /v1/verify";
/**
 * On a virtual machine whose neighbours come and go within seconds, which halves and doubles its speed, ratios of
 * medians of 5 runs differed by 11 % (standard deviation), of 11 runs by 7 %.
 */
const ROUNDS = { full: 11, quick: 2 };
/** Bound: share of the throughput of raw uWebSockets.js with the same CPU time. */
const LEAST_OF_RAW = 0.53;
/** Divisor of raw's rate for the latencies, so that a server that costs twice as much is no busier than half. */
const TAIL_SHARE = 4;
const MOST_TOUCHED_PERCENT = 1;
/** Enough that a server always finds a request to read, though wrk answers for many in a turn. */
const CONNECTIONS = 256;
const RUN_MS = { full: 2_000, quick: 1_000 };
/** Load before each run that is not counted: leases of quota and rate grow with the traffic, and shrink in a pause. */
const LEAD_MS = 1_000;
/** Rounds of the other raw servers, in full runs alone: figures that are not judged must not take long. */
const OTHER_ROUNDS = 5;
const OPEN_ROUNDS = { full: 7, quick: 1 };
/** Each run of an open loop, seconds. */
const OPEN_S = { full: 3, quick: 2 };
/** Time for which calls to Redis and Postgres are counted: under load without a pause, as in a busy service. */
const STEADY_MS = 4_000;

/** The same server; `late` is of all that it is asked in a closed loop. */
export function countingLate<S extends Pick<Server, "name" | "load">>(server: S): S & Asked {
  let late = 0;
  return {
    ...server,
    async load(how) {
      const run = await server.load(how);
      late += run.late;
      return run;
    },
    get late() {
      return late;
    },
  };
}

function subject({ name, load, usage }: Server, runMs: number): Subject {
  return {
    async run() {
      await load({ connections: CONNECTIONS, forMs: LEAD_MS });
      const before = await usage();
      const [{ answered, wrong, wallMs }, busy] = await Promise.all([
        load({ connections: CONNECTIONS, forMs: runMs }),
        busyWithin(usage, runMs),
      ]);
      requireRight(name, wrong);
      return { ...sampleOf(answered, wallMs, cpuBetween(before, await usage())), busy };
    },
  };
}

export interface Tails {
  whole: OpenRun[];
  ceiling: OpenRun[];
}

/** Both at the same rate, by turns. */
async function measureTails(world: HttpWorld, rate: number, kind: "full" | "quick"): Promise<Tails> {
  const tails: Tails = { whole: [], ceiling: [] };
  for (let round = 0; round < OPEN_ROUNDS[kind]; round++) {
    for (const [server, runs] of [
      [world.raw, tails.ceiling],
      [world.rcpt, tails.whole],
    ] as const) {
      const run = await world.askAt(server, rate, OPEN_S[kind]);
      requireRight(server.name, run.wrong);
      runs.push(run);
    }
  }
  return tails;
}

function tellTails(name: string, runs: readonly OpenRun[]): string {
  const of = (field: "p50Us" | "p99Us" | "p999Us" | "lagP99Us") => median(runs.map((run) => run[field]));
  return `${name}: p50 ${of("p50Us")} µs, p99 ${of("p99Us")} µs, p99.9 ${of("p999Us")} µs; the generator's own lateness at p99 ${of("lagP99Us")} µs`;
}

/** CPU of other raw servers, measured in turn with the API. They are not judged, and a quick run has none. */
async function showOthers({ rcpt, otherRaws }: HttpWorld, runMs: number): Promise<Line[]> {
  const subjects = [rcpt, ...otherRaws].map((server) => subject(server, runMs));
  const [whole, ...others] = otherRaws.length === 0 ? [] : await interleave(subjects, OTHER_ROUNDS);
  if (whole === undefined) return [];
  return others.map((figures, i) => {
    const idle = idleReason(figures) ?? idleReason(whole);
    const ratios = [idle ?? `rcpt beside it: ${ratio(figures.cpuUs, whole.cpuUs, "this")} in CPU`];
    return { name: otherRaws[i]?.name ?? "", figures, ratios };
  });
}

interface Calls {
  /** As a line for people. */
  text: string;
  /** Calls of Redis and transactions of Postgres for 100 requests. */
  percent: number;
}

/** Calls of the busy API to Redis and Postgres, per request. */
async function countCalls(context: BenchContext, { load }: Server): Promise<Calls> {
  const how = { connections: CONNECTIONS };
  await load({ ...how, forMs: LEAD_MS });
  let answered = 0;
  const touched = await countTouched(context, async () => {
    const done = await load({ ...how, forMs: STEADY_MS });
    requireRight("rcpt", done.wrong);
    answered = done.answered;
  });
  const per = (count: number) => `${count} (${((count / answered) * 100).toFixed(2)} %)`;
  const { redisCalls, redisCommands, transactions } = touched;
  return {
    text: `${answered} requests without a pause: ${per(redisCalls)} calls of Redis (${redisCommands} commands with those of scripts), ${per(transactions)} transactions of Postgres`,
    percent: ((redisCalls + transactions) / answered) * 100,
  };
}

const CPU = {
  id: "http.cached.cpu",
  what: "cached GET /v1/verify, server CPU a request",
  unit: "× raw",
  atLeast: LEAST_OF_RAW,
};
const TOUCHED = {
  id: "http.cached.touched",
  what: "cached GET /v1/verify, calls of Redis and Postgres",
  unit: "% of requests",
  atMost: MOST_TOUCHED_PERCENT,
};

const FASTIFY = {
  id: "http.cached.fastify",
  what: "cached GET /v1/verify, server CPU a request",
  unit: "× fastify with the same logic",
  atLeast: 2.2,
};
const P99 = {
  id: "http.cached.p99",
  what: "cached GET /v1/verify, p99 at a quarter of raw's rate, open loop",
  unit: "× raw",
  atMost: 2,
};
/** Void where one of the two was not busy all the time, or answered nothing. */
export function cpuTarget(whole: Summary, ceiling: Summary): Target {
  return { ...CPU, ...busyShareOf(whole, ceiling) };
}

/** fastify's CPU time over ours; void as above. */
export function fastifyTarget(whole: Summary, fastify: Summary): Target {
  return { ...FASTIFY, ...busyShareOf(whole, fastify) };
}

/** The tail latencies, measured at a quarter of raw's throughput. No figure if raw was not busy: its throughput is unknown. */
export function tailTarget(tails: Tails, ceiling: Summary): Target {
  const reason = idleReason(ceiling);
  return { ...P99, ...(reason === null ? tailRatio(tails.whole, tails.ceiling) : { figure: null, reason }) };
}

/** The section with no figure. @param reason names the tool that this machine lacks */
function notMeasured(reason: string): Section {
  const targets = [CPU, TOUCHED, FASTIFY, P99].map((target) => ({ ...target, figure: null, reason }));
  return { title: TITLE, configuration: [], unit: "requests", lines: [], targets, notes: [reason] };
}

/**
 * Cached `GET /v1/verify`, everything on, against uWebSockets.js that sends the same bytes and fastify
 * on the same services.
 * @param find rejects with the tool that this machine lacks; then no figure is measured
 */
export async function benchCachedVerify(context: BenchContext, find = findLoadTools): Promise<Section> {
  const tools = await find(context).catch((error: Error) => error.message);
  return typeof tools === "string" ? notMeasured(tools) : measureCached(context, tools);
}

/**
 * Measures with its own Postgres and Redis. Before latencies are measured, both are moved away from the cores of the
 * server and the generator, and remain there. Otherwise they made the generator late: by 0.7 to 1.4 ms at the 99th
 * percentile.
 */
async function measureCached(context: BenchContext, tools: LoadTools): Promise<Section> {
  const kind = context.quick ? "quick" : "full";
  const runMs = RUN_MS[kind];
  const rounds = ROUNDS[kind];
  const stores = await startServices(context.guard, false);
  const { fresh } = await createCleanState(stores);
  const own = { ...context, redisUrl: stores.redisUrl, databaseUrl: await fresh("http") };
  return withChildren(async (keep) => {
    const world = await startHttpWorld(own, keep, tools);
    const rcpt = countingLate(world.rcpt);
    const servers = [rcpt, countingLate(world.raw), countingLate(world.fastify)];
    const subjects = servers.map((server) => subject(server, runMs));
    const [whole, ceiling, fastify] = await interleave(subjects, rounds);
    if (!whole || !ceiling || !fastify) throw new InvalidRun("a subject is missing");
    const others = await showOthers(world, runMs);
    const calls = await countCalls(own, rcpt);
    const rate = Math.round(ceiling.perS / TAIL_SHARE);
    await world.endFastify();
    await pinBehind(stores.pids, tools.cores.server);
    const tails = await measureTails(world, rate, kind);
    const ratios = [
      `${ratio(ceiling.cpuUs, whole.cpuUs, "raw")} in CPU`,
      `${ratio(fastify.cpuUs, whole.cpuUs, "fastify")} in CPU`,
      ratio(whole.perS, ceiling.perS, "raw"),
    ];
    return {
      title: TITLE,
      configuration: [
        `${TEAMS} enterprise teams, ${ADDRESSES} addresses in memory, ${world.bytes} bytes an answer; ${CONNECTIONS} keep-alive connections, closed loop, no pipelining`,
        `server on one core, the generator (LuaJIT, which never sleeps) on the other; medians of ${rounds} runs of ${runMs / 1000} s by turns; busy in the middle of a run`,
        `latencies: ${rate} requests a second at even distances for ${OPEN_S[kind]} s behind ${OPEN_WARM_S} s that do not count, in which leases of quota and rate grow; from when each was due; medians of ${OPEN_ROUNDS[kind]} runs by turns; Postgres and Redis have the server's core while it sleeps`,
      ],
      unit: "requests",
      lines: [
        { name: "rcpt", figures: whole, ratios },
        {
          name: "raw uWebSockets.js",
          figures: ceiling,
          ratios: ["ceiling: the same bytes, always of one answer"],
        },
        ...others,
        {
          name: "fastify",
          figures: fastify,
          ratios: ["the same services and body; fields of its own besides"],
        },
      ],
      targets: [
        unlessLate(cpuTarget(whole, ceiling), rcpt),
        { ...TOUCHED, figure: calls.percent },
        unlessLate(fastifyTarget(whole, fastify), rcpt),
        tailTarget(tails, ceiling),
      ],
      notes: [
        calls.text,
        tellTails("rcpt", tails.whole),
        tellTails("raw", tails.ceiling),
        ...lateNotes(servers),
      ],
    };
  });
}
