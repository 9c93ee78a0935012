import { join } from "node:path";
import type { Wrk } from "../../scripts/embedded/wrk.ts";
import { setTeamLimit } from "../../src/features/teams/operations-sql.ts";
import { busyWithin, cpuBetween, loweredNote, loweredShareOf, type Usage } from "../cpu/busy.ts";
import { DOMAINS, domainName } from "../probing/plan.ts";
import { planInternet } from "../probing/plan-internet.ts";
import type { ApiProcess } from "../processes/api.ts";
import { InvalidRun, interleave, type Sample, type Subject, sampleOf } from "../report/figures.ts";
import { ratio, type Section } from "../report/table.ts";
import { startChild } from "../setup/child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "../setup/context.ts";
import { pin } from "../setup/pin.ts";
import type { Keep } from "../setup/pinned-server.ts";
import { makeTeams } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { type ClosedRun, inTurn, lateNotes, runClosedLoop, unlessLate } from "./closed-loop.ts";
import { askOnce, getRequest } from "./http-connection.ts";
import { findLoadTools } from "./load-tools.ts";
import { luaTable, quoted } from "./lua.ts";
import { startRaw } from "./raw.ts";
import { REASON, watchAnswers } from "./uncached-answers.ts";

const TEAMS = 64;
/** Number of its run in the plan; other sections use other runs. */
const RUN = 3_000;
/** A request waits for Redis and for a thread: this many are in flight in a busy service. */
const CONNECTIONS = 256;
const RUN_S = { full: 3, quick: 1 };
/** Load before each run that is not counted: leases of quota and rate grow with the traffic, and shrink in a pause. */
const LEAD_S = 1;
/**
 * Most warm-up runs. A process without compiled code takes five times as long for a check, and correctly refuses
 * requests that would wait too long (503 `overloaded`). So it gets uncounted load until it refuses none.
 */
const WARM_UPS = 5;
const MARKS = [`"reason":"${REASON}"`, '"cached":false'];
const ROUNDS = { full: 5, quick: 2 };
/** Bound: a request may cost five times the CPU that uWebSockets.js takes to send the same bytes. */
const SHARE_OF_RAW = 0.2;
const CPU = {
  id: "http.uncached.cpu",
  what: "uncached GET /v1/verify without probing, CPU a request, all threads",
  unit: "× raw",
  atLeast: SHARE_OF_RAW,
};

const pathOf = (address: string) => `/v1/verify?email=${encodeURIComponent(address)}`;

/** Every request is about an address that was never asked about, of domains that all know. */
function newAddresses(prefix: string, keys: readonly string[]): string {
  const tail = quoted(" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ");
  return [
    luaTable("keys", keys),
    "local at = 0",
    "local function nextRequest()",
    "  at = at + 1",
    `  local address = at .. "%40d" .. (at % ${DOMAINS}) .. "${domainName(RUN, 0).slice("d0".length)}"`,
    `  return "GET /v1/verify?email=${prefix}." .. address .. ${tail} .. keys[at % #keys + 1] .. "\\r\\n\\r\\n"`,
    "end",
  ].join("\n");
}

interface Server {
  name: string;
  port: number;
  /** As of `Asked`. */
  late: number;
  /**
   * Asserts that since the last call exactly `count` requests were answered, all as expected; absent: the server has
   * only one answer.
   */
  requireAnswered?(count: number): Promise<void>;
  /** Lua of its requests, with addresses under a prefix that no other run has. */
  requests(prefix: string): string;
  usage(): Promise<Usage>;
}

interface World {
  wrk: Wrk;
  /** File of the script that wrk runs. */
  file: string;
  loadCore: number;
  rcpt: Server;
  raw: Server;
  bytes: number;
}

/** The API with the MX of all domains in its cache, and the raw server with the bytes of an answer. */
async function startAll(context: BenchContext, keep: Keep): Promise<World> {
  const { cores, wrk } = await findLoadTools(context);
  // A tier without probing, with the widest limits.
  const keys = await makeTeams(context, "unprobed", TEAMS, (sql, teamId) =>
    sql.begin((tx) => setTeamLimit(tx, teamId, "probing", false)),
  );
  const [key = ""] = keys;
  const world = await startMail(context, keep, planInternet({ worlds: [[RUN]] }));
  const api = keep(await startChild<ApiProcess>("api", context));
  const { port, metricsPort, pid } = await api.call("start", settingsFor(context, world));
  await pin(pid, cores.server);
  for (let domain = 0; domain < DOMAINS; domain++)
    await askOnce(port, getRequest(pathOf(`first@${domainName(RUN, domain)}`), key));
  const request = getRequest(pathOf(`sample.100@${domainName(RUN, 0)}`), key);
  const sample = await askOnce(port, request);
  if (!MARKS.every((mark) => sample.body.includes(mark))) throw new InvalidRun(sample.head + sample.body);
  const plan = { name: "raw", sample: { request, answer: sample }, others: [], form: "bytes" } as const;
  const raw = await startRaw(context, keep, cores.server, plan);
  return {
    wrk,
    file: join(context.compiledDir, "uncached.lua"),
    loadCore: cores.load,
    rcpt: {
      ...{ name: "rcpt", port, late: 0, usage: () => api.call("usage") },
      requests: (prefix) => newAddresses(prefix, keys),
      requireAnswered: await watchAnswers(metricsPort),
    },
    raw: {
      ...raw,
      late: 0,
      requests: () => inTurn([request]),
    },
    bytes: sample.head.length + 4 + sample.body.length,
  };
}

function loadFor(
  { wrk, file, loadCore }: World,
  { port, requests }: Server,
  prefix: string,
  seconds: number,
): Promise<ClosedRun> {
  const load = { port, connections: CONNECTIONS, forMs: seconds * 1_000 };
  // Redis is on the generator's core, too.
  return runClosedLoop(wrk, load, { lua: requests(prefix), sleeps: true }, { file, core: loadCore });
}

/**
 * Loads the server until it answers every request with success; the measurement starts then in any case. @returns
 * number of answers without success. @throws InvalidRun for any other error or answer
 */
async function warmUp(world: World, server: Server): Promise<number> {
  let refused = 0;
  for (let i = 0; i < WARM_UPS; i++) {
    const { answered, wrong } = await loadFor(world, server, `${server.name}warm${i}`, LEAD_S);
    await server.requireAnswered?.(answered);
    refused += wrong;
    if (wrong === 0) break;
  }
  return refused;
}

async function measureServer(world: World, server: Server, round: number, seconds: number): Promise<Sample> {
  const { name, usage, requireAnswered } = server;
  const lead = await loadFor(world, server, `${name}${round}lead`, LEAD_S);
  const before = await usage();
  const [{ answered, wrong, late, wallMs }, busy] = await Promise.all([
    loadFor(world, server, `${name}${round}`, seconds),
    busyWithin(usage, seconds * 1_000),
  ]);
  const after = await usage();
  server.late += lead.late + late;
  requireRight(name, lead.wrong + wrong);
  await requireAnswered?.(lead.answered + answered);
  return { ...sampleOf(answered, wallMs, cpuBetween(before, after)), busy };
}

/** `GET /v1/verify` of unknown addresses, by teams without probing. */
export async function benchUncachedVerify(context: BenchContext): Promise<Section> {
  return withChildren(async (keep) => {
    const world = await startAll(context, keep);
    const seconds = context.quick ? RUN_S.quick : RUN_S.full;
    const rounds = context.quick ? ROUNDS.quick : ROUNDS.full;
    const refusedCold = await warmUp(world, world.rcpt);
    const servers = [world.rcpt, world.raw];
    const subjects = servers.map(
      (server): Subject => ({ run: (round) => measureServer(world, server, round, seconds) }),
    );
    const [whole, ceiling] = await interleave(subjects, rounds);
    if (!whole || !ceiling) throw new InvalidRun("a subject is missing");
    return {
      title: "Uncached GET /v1/verify without probing",
      configuration: [
        `${TEAMS} teams, every address new, ${DOMAINS} domains whose MX is cached, ${world.bytes} bytes an answer; ${CONNECTIONS} keep-alive connections, closed loop, no pipelining`,
        `before anything counts rcpt is asked for ${LEAD_S} s, and again while it refuses anybody, ${WARM_UPS} times at most: ${refusedCold} answers were without success then`,
        `looked up in Redis, checked by a thread; what nobody was asked for is not kept; server with all its threads on one core, the generator (LuaJIT, which sleeps while no answer has come) on another; raw is asked one request for all; medians of ${rounds} runs of ${seconds} s by turns`,
      ],
      unit: "requests",
      lines: [
        {
          name: "rcpt",
          figures: whole,
          ratios: [
            `${ratio(ceiling.cpuUs, whole.cpuUs, "raw")} in CPU`,
            ratio(whole.perS, ceiling.perS, "raw"),
          ],
        },
        { name: "raw uWebSockets.js", figures: ceiling, ratios: ["ceiling: the same bytes"] },
      ],
      targets: [unlessLate({ ...CPU, ...loweredShareOf(whole, ceiling) }, world.rcpt)],
      notes: [
        "a server that is not busy all the while pays more CPU a request, since it gathers less work a turn",
        ...[loweredNote(ceiling)].filter((note) => note !== null),
        ...lateNotes(servers),
      ],
    };
  });
}
