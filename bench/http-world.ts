import { join } from "node:path";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { type Child, startChild } from "./child.ts";
import { type BenchContext, settingsFor } from "./context.ts";
import { inDatabase } from "./database.ts";
import { InvalidRun } from "./figures.ts";
import { askOnce, getRequest, ownFields } from "./http-connection.ts";
import type { LoadTools } from "./load-tools.ts";
import { createNativeLoad, type LoadGenerator } from "./native-load.ts";
import { type Cores, pin } from "./pin.ts";
import { existing } from "./plan.ts";
import type { ApiProcess } from "./processes/api.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import type { RawServer } from "./processes/raw-server.ts";

export const TEAMS = 64;
/** None of them missing. */
export const ADDRESSES = 1_000;
/** Of the plan; the other sections have others. */
const RUN = 2_000;
/** Pairs of a team and an address, in which each of both comes; see `loadScript` for why no more. */
const REQUESTS = 1_024;
const VALID = '"verdict":"valid"';
const MARKS = [VALID, '"cached":true'];

/** A server under measurement. */
export interface Server {
  name: string;
  port: number;
  usage(): Promise<NodeJS.CpuUsage>;
}

export interface HttpWorld {
  rcpt: Server;
  raw: Server;
  requests: string[];
  /** Of an answer, header included. */
  bytes: number;
  load: LoadGenerator;
}

/** Keys of TEAMS enterprise teams, in a database of the newest schema. */
async function makeTeams(context: BenchContext): Promise<string[]> {
  return inDatabase(context, async (sql) => {
    const keys: string[] = [];
    for (let team = 0; team < TEAMS; team++) {
      const input = { email: `owner${team}@example.com`, team: `team ${team}`, tier: "enterprise" } as const;
      keys.push((await bootstrap(sql, input)).liveKey);
    }
    return keys;
  });
}

type Keep = <C extends { end(): Promise<void> }>(child: C) => C;

/** Those processes' common verb. */
type Measured = { usage(): NodeJS.CpuUsage };

async function startPinned(
  child: Child<Measured>,
  name: string,
  { port, pid }: { port: number; pid: number },
  { server }: Cores,
): Promise<Server> {
  await pin(pid, server);
  return { name, port, usage: () => child.call("usage") };
}

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

/** The whole of it: sinks to learn the addresses from, the API with its cache full, the raw server with its bytes. */
export async function startHttpWorld(
  context: BenchContext,
  keep: Keep,
  { cores, wrk }: LoadTools,
): Promise<HttpWorld> {
  const keys = await makeTeams(context);
  const mail = keep(await startChild<MailServers>("mail-servers", context));
  const world = await mail.call("start", { latencyMs: 0, runs: [RUN] });
  const paths = existing(RUN, ADDRESSES).map((address) => `/v1/verify?email=${encodeURIComponent(address)}`);
  const [key = ""] = keys;
  const api = keep(await startChild<ApiProcess>("api", context));
  const rcpt = await startPinned(api, "rcpt", await api.call("start", settingsFor(context, world)), cores);
  await fill(
    rcpt.port,
    paths.map((path) => getRequest(path, key)),
  );
  const sample = await askOnce(rcpt.port, getRequest(paths[0] ?? "", key));
  if (!MARKS.every((mark) => sample.body.includes(mark)))
    throw new InvalidRun(`not from the cache: ${sample.body}`);
  const rawChild = keep(await startChild<RawServer>("raw-server", context));
  const started = await rawChild.call("start", { fields: ownFields(sample), body: sample.body });
  const raw = await startPinned(rawChild, "raw", started, cores);
  const copy = await askOnce(raw.port, getRequest(paths[0] ?? "", key));
  const bytes = sample.head.length + 4 + sample.body.length;
  if (copy.head.length + 4 + copy.body.length !== bytes)
    throw new InvalidRun(`the raw server does not send the same bytes:\n${sample.head}\n---\n${copy.head}`);
  const requests = Array.from({ length: REQUESTS }, (_, i) =>
    getRequest(paths[i % paths.length] ?? "", keys[i % keys.length] ?? ""),
  );
  const file = join(context.compiledDir, "load.lua");
  return { rcpt, raw, requests, bytes, load: createNativeLoad(wrk, { requests, file, core: cores.load }) };
}
