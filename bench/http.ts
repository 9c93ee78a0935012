import { createLog } from "../src/core/log.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPostgres } from "../src/store/postgres.ts";
import { type Child, startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, interleave, type Subject, sampleOf } from "./figures.ts";
import { askOnce, getRequest, ownFields } from "./http-connection.ts";
import { planRun } from "./plan.ts";
import type { ApiProcess } from "./processes/api.ts";
import type { LoadGenerator } from "./processes/load.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import type { RawServer } from "./processes/raw-server.ts";
import { ratio, type Section } from "./table.ts";
import { countTouched } from "./touched.ts";

const ROUNDS = 5;
const TEAMS = 64;
/** None of them missing: the first tenth is asked of every domain. */
const ADDRESSES = 1_000;
/** Of the plan; the other sections have others. */
const RUN = 2_000;
/** Every team asks about every address before a pair comes again: the least common multiple of the two. */
const REQUESTS = 8_000;
const CONNECTIONS = 64;
const RUN_MS = 1_500;
/** Load before each run that is not counted: leases of quota and rate grow with the traffic, and shrink in a pause. */
const LEAD_MS = 500;
/** Load under which calls to Redis and Postgres are counted: without a pause, as a busy service has none. */
const STEADY_MS = 4_000;
const MARKS = ['"verdict":"valid"', '"cached":true'];

/** Keys of TEAMS enterprise teams, in a database of the newest schema. */
async function makeTeams(context: BenchContext): Promise<string[]> {
  const sql = createPostgres({ url: context.databaseUrl, maxConnections: 2, applicationName: "rcpt-bench" });
  try {
    await migrate(sql, createLog("silent"));
    const keys: string[] = [];
    for (let team = 0; team < TEAMS; team++) {
      const input = { email: `owner${team}@example.com`, team: `team ${team}`, tier: "enterprise" } as const;
      keys.push((await bootstrap(sql, input)).liveKey);
    }
    return keys;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

interface Processes {
  api: Child<ApiProcess>;
  apiPort: number;
  raw: Child<RawServer>;
  rawPort: number;
  load: Child<LoadGenerator>;
}

/** The whole of it: sinks to learn the addresses from, the API with its cache full, the raw server with its bytes. */
async function startAll(context: BenchContext, keep: <C extends { end(): Promise<void> }>(child: C) => C) {
  const keys = await makeTeams(context);
  const mail = keep(await startChild<MailServers>("mail-servers", context));
  const world = await mail.call("start", { latencyMs: 0, runs: [RUN] });
  const api = keep(await startChild<ApiProcess>("api", context));
  const { port: apiPort } = await api.call("start", settingsFor(context, world));
  const paths = planRun(RUN, ADDRESSES).map(
    ({ address }) => `/v1/verify?email=${encodeURIComponent(address)}`,
  );
  const [key = ""] = keys;
  for (const path of paths) await askOnce(apiPort, getRequest(path, key));
  const sample = await askOnce(apiPort, getRequest(paths[0] ?? "", key));
  const raw = keep(await startChild<RawServer>("raw-server", context));
  const { port: rawPort } = await raw.call("start", { fields: ownFields(sample), body: sample.body });
  const copy = await askOnce(rawPort, getRequest(paths[0] ?? "", key));
  const bytes = sample.head.length + 4 + sample.body.length;
  if (copy.head.length + 4 + copy.body.length !== bytes)
    throw new InvalidRun(`the raw server does not send the same bytes:\n${sample.head}\n---\n${copy.head}`);
  const load = keep(await startChild<LoadGenerator>("load", context));
  await load.call("prepare", { paths, keys, count: REQUESTS });
  return { processes: { api, apiPort, raw, rawPort, load }, bytes };
}

function loadOn({ load }: Processes, port: number, forMs: number) {
  return load.call("load", { port, connections: CONNECTIONS, forMs, marks: MARKS });
}

interface Server {
  name: string;
  port: number;
  usage(): Promise<NodeJS.CpuUsage>;
}

function subject(processes: Processes, { name, port, usage }: Server): Subject {
  return {
    async run() {
      await loadOn(processes, port, LEAD_MS);
      const before = await usage();
      const { answered, wrong, wallMs } = await loadOn(processes, port, RUN_MS);
      const after = await usage();
      requireRight(name, wrong);
      return sampleOf(answered, wallMs, after.user + after.system - before.user - before.system);
    },
  };
}

/** What the API asks of Redis and Postgres while it is busy, per request, as lines for people. */
async function countCalls(context: BenchContext, processes: Processes): Promise<string> {
  await loadOn(processes, processes.apiPort, RUN_MS);
  let answered = 0;
  const touched = await countTouched(context, async () => {
    const done = await loadOn(processes, processes.apiPort, STEADY_MS);
    requireRight("rcpt", done.wrong);
    answered = done.answered;
  });
  const per = (count: number) => `${count} (${((count / answered) * 100).toFixed(2)} %)`;
  const { redisCalls, redisCommands, transactions } = touched;
  return `${answered} requests without a pause: ${per(redisCalls)} calls of Redis (${redisCommands} commands with those of scripts), ${per(transactions)} transactions of Postgres`;
}

/** Cached `GET /v1/verify`, everything on, against uWebSockets.js that sends the same bytes. */
export async function benchCachedVerify(context: BenchContext): Promise<Section> {
  return withChildren(async (keep) => {
    const { processes, bytes } = await startAll(context, keep);
    const { api, apiPort, raw, rawPort } = processes;
    const subjects = [
      subject(processes, { name: "rcpt", port: apiPort, usage: () => api.call("usage") }),
      subject(processes, { name: "raw", port: rawPort, usage: () => raw.call("usage") }),
    ];
    const [whole, ceiling] = await interleave(subjects, ROUNDS);
    if (!whole || !ceiling) throw new InvalidRun("a subject is missing");
    const calls = await countCalls(context, processes);
    return {
      title: "Cached GET /v1/verify",
      configuration: [
        `${TEAMS} enterprise teams, ${ADDRESSES} addresses in memory, ${bytes} bytes an answer; ${CONNECTIONS} keep-alive connections, closed loop, no pipelining`,
        `server, raw server and load generator (Node.js) in processes of their own; medians of ${ROUNDS} runs of ${RUN_MS / 1000} s by turns`,
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
      targets: [],
      notes: [
        calls,
        "a server that is not busy all the while pays more CPU a request, since it gathers less work a turn",
      ],
    };
  });
}
