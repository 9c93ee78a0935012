import { join } from "node:path";
import { gcFlags } from "../../src/platform/v8/gc-flags.ts";
import { existing } from "../probing/plan.ts";
import { planInternet } from "../probing/plan-internet.ts";
import type { ApiProcess } from "../processes/api.ts";
import type { FastifyServer } from "../processes/fastify-server.ts";
import type { RawAnswer } from "../processes/raw-server.ts";
import { InvalidRun } from "../report/figures.ts";
import { startChild } from "../setup/child.ts";
import { type BenchContext, settingsFor } from "../setup/context.ts";
import type { Cores } from "../setup/pin.ts";
import { type Keep, type Started, startPinned } from "../setup/pinned-server.ts";
import { makeTeams } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { type ClosedLoad, type ClosedRun, inTurn, runClosedLoop } from "./closed-loop.ts";
import { askOnce, getRequest, type HttpAnswer, ownFields } from "./http-connection.ts";
import type { LoadTools } from "./load-tools.ts";
import { type OpenRun, runOpenLoop } from "./open-loop.ts";
import { type HttpSample, rawAnswer, startRaw } from "./raw.ts";

export const TEAMS = 64;
/** Number of addresses; all of them exist. */
export const ADDRESSES = 1_000;
/** Number of its run in the plan; other sections use other runs. */
const RUN = 2_000;
/** Pairs of a team and an address, in which each of both comes; see `inTurn` for why no more. */
const REQUESTS = 1_024;
const VALID = '"verdict":"valid"';
const MARKS = [VALID, '"cached":true'];

/** A server under measurement. */
export interface Server extends Started {
  /** Asks it in a closed loop. */
  load(load: Omit<ClosedLoad, "port">): Promise<ClosedRun>;
}

export interface HttpWorld {
  rcpt: Server;
  raw: Server;
  /**
   * Raw servers that send the same answer in other forms, to show what the API's distance from raw consists of; empty
   * in a quick run.
   */
  otherRaws: Server[];
  /** fastify on the service's own parts. */
  fastify: Server;
  /** Ends fastify and its services, which would otherwise use the CPU of the core that the server runs on. */
  endFastify(): Promise<void>;
  /** Bytes of an answer, header included. */
  bytes: number;
  /** Sends `rate` requests a second to `server`, in an open loop: the same requests as in the closed loop. */
  askAt(server: Server, rate: number, forS: number): Promise<OpenRun>;
}

/**
 * Load before answers of an open loop are counted: leases of quota and rate were returned in the pause before, and grow
 * for up to 1.3 s.
 */
export const OPEN_WARM_S = 1.5;
/**
 * Connections of an open loop: at half of raw's rate, as many as fall due in 6 ms. With 256, a server kept off its core
 * by another process for one scheduler slice (4 ms) made requests wait, which was counted as the generator's fault.
 * With 1 024, each answer costs a server that is behind so much more that it stays behind.
 */
const OPEN_CONNECTIONS = 512;

/** Fields whose values are others each time. */
const COUNTING: ReadonlySet<string> = new Set(["X-Request-Id", "RateLimit"]);

const FILL_ATTEMPTS = 5;

/** Asks about each address until it is known: on a busy machine a first check may end at its deadline. */
async function fill(port: number, requests: readonly string[]): Promise<void> {
  for (const request of requests) {
    let last = "";
    for (let attempt = 0; attempt < FILL_ATTEMPTS && !last.includes(VALID); attempt++)
      last = (await askOnce(port, request)).body;
    if (!last.includes(VALID)) throw new InvalidRun(`a wrong answer: ${last}`);
  }
}

/**
 * fastify, once it knows what the API knows. @throws InvalidRun where it answers otherwise: fields that neither framework
 * writes by itself have the same names and values, those aside that count
 */
async function startFastify(
  context: BenchContext,
  keep: Keep,
  cores: Cores,
  {
    settings,
    requests,
    sample,
  }: { settings: Record<string, string>; requests: string[]; sample: HttpSample },
): Promise<Started & { end(): Promise<void> }> {
  const child = keep(await startChild<FastifyServer>("fastify-server", context));
  const fastify = await startPinned(child, "fastify", await child.call("start", settings), cores.server);
  await fill(fastify.port, requests);
  const copy = await askOnce(fastify.port, sample.request);
  const theirs = new Map(ownFields(copy).map(([name, value]) => [name.toLowerCase(), value]));
  const isSame = ownFields(sample.answer).every(([name, value]) =>
    COUNTING.has(name) ? theirs.has(name.toLowerCase()) : theirs.get(name.toLowerCase()) === value,
  );
  if (!isSame || copy.body !== sample.answer.body)
    throw new InvalidRun(`fastify does not answer the same:\n${copy.head}\n${copy.body}`);
  return { ...fastify, end: child.end };
}

/** The API's answers to each of `asked` but the first. @throws InvalidRun when one is not from the cache */
async function answersBehind(port: number, asked: readonly string[]): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  for (const request of asked.slice(1)) {
    const answer = await askOnce(port, request);
    requireCached(answer);
    answers.push(rawAnswer(answer));
  }
  return answers;
}

function requireCached({ body }: HttpAnswer): void {
  if (!MARKS.every((mark) => body.includes(mark))) throw new InvalidRun(`not from the cache: ${body}`);
}

/** The whole of it: sinks to learn the addresses from, the API with its cache full, the others with its answers. */
export async function startHttpWorld(
  context: BenchContext,
  keep: Keep,
  { cores, wrk }: LoadTools,
): Promise<HttpWorld> {
  const keys = await makeTeams(context, "team", TEAMS);
  const settings = settingsFor(context, await startMail(context, keep, planInternet({ worlds: [[RUN]] })));
  const paths = existing(RUN, ADDRESSES).map((address) => `/v1/verify?email=${encodeURIComponent(address)}`);
  const [key = ""] = keys;
  const singles = paths.map((path) => getRequest(path, key));
  // As `npm start` begins it on a machine of one core.
  const begun = { core: cores.server, flags: gcFlags(1) };
  const api = keep(await startChild<ApiProcess>("api", context, begun));
  const rcpt = await startPinned(api, "rcpt", await api.call("start", settings), cores.server);
  await fill(rcpt.port, singles);
  const request = singles[0] ?? "";
  const answer = await askOnce(rcpt.port, request);
  requireCached(answer);
  const sample = { request, answer };
  const one = { name: "raw", sample, others: [], form: "bytes" } as const;
  const raw = await startRaw(context, keep, cores.server, one);
  const otherRaws: Started[] = [];
  if (!context.quick) {
    const others = await answersBehind(rcpt.port, singles);
    for (const plan of [
      { ...one, name: "raw, all answers by turns", others },
      { ...one, name: "raw, as strings", form: "strings" },
    ] as const)
      otherRaws.push(await startRaw(context, keep, cores.server, plan));
  }
  const fastify = await startFastify(context, keep, cores, { settings, requests: singles, sample });
  const requests = Array.from({ length: REQUESTS }, (_, i) =>
    getRequest(paths[i % paths.length] ?? "", keys[i % keys.length] ?? ""),
  );
  const core = cores.load;
  const open = { requests, file: join(context.compiledDir, "open-loop.lua"), core };
  const closed = { lua: inTurn(requests), sleeps: false };
  const place = { file: join(context.compiledDir, "closed-loop.lua"), core };
  const asked = (server: Started): Server => ({
    ...server,
    load: (load) => runClosedLoop(wrk, { ...load, port: server.port }, closed, place),
  });
  return {
    rcpt: asked(rcpt),
    raw: asked(raw),
    otherRaws: otherRaws.map(asked),
    fastify: asked(fastify),
    endFastify: fastify.end,
    bytes: answer.head.length + 4 + answer.body.length,
    askAt: ({ port }, rate, forS) =>
      runOpenLoop(wrk, { port, rate, connections: OPEN_CONNECTIONS, warmS: OPEN_WARM_S, forS }, open),
  };
}
