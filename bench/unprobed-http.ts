import { createLog } from "../src/core/log.ts";
import { bootstrap } from "../src/services/teams/bootstrap.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPostgres } from "../src/store/postgres.ts";
import { setTeamLimit } from "../src/store/team-operations.ts";
import { type Child, startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, interleave, type Sample, type Subject, sampleOf } from "./figures.ts";
import { askOnce, getRequest, ownFields } from "./http-connection.ts";
import { DOMAINS, domainName, planRun } from "./plan.ts";
import type { ApiProcess } from "./processes/api.ts";
import type { LoadGenerator } from "./processes/load.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import type { RawServer } from "./processes/raw-server.ts";
import { ratio, type Section } from "./table.ts";

const TEAMS = 64;
/** Of the plan; the other sections have others. */
const RUN = 3_000;
/** A request waits for Redis and for a thread: so many are on their way at once in a service that is busy. */
const CONNECTIONS = 256;
const RUN_MS = 1_500;
/** Load before each run that is not counted: leases of quota and rate grow with the traffic, and shrink in a pause. */
const LEAD_MS = 500;
/** More than a run can ask for: an address that came twice would be in the cache, and the run would not count. */
const REQUESTS = 100_000;
const MARKS = ['"reason":"smtp_not_in_tier"', '"cached":false'];
const ROUNDS = { full: 5, quick: 3 };
/** What a request may cost: five times what uWebSockets.js itself takes to send the same bytes. */
const SHARE_OF_RAW = 0.2;

/** Keys of TEAMS teams with the widest limits, of a tier that does not probe, in a database of the newest schema. */
async function makeTeams(context: BenchContext): Promise<string[]> {
  const sql = createPostgres({ url: context.databaseUrl, maxConnections: 2, applicationName: "rcpt-bench" });
  try {
    await migrate(sql, createLog("silent"));
    const keys: string[] = [];
    for (let team = 0; team < TEAMS; team++) {
      const input = { email: `unprobed${team}@example.com`, team: `unprobed ${team}`, tier: "enterprise" };
      const { teamId, liveKey } = await bootstrap(sql, { ...input, tier: "enterprise" });
      await sql.begin((tx) => setTeamLimit(tx, teamId, "probing", false));
      keys.push(liveKey);
    }
    return keys;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const pathOf = (address: string) => `/v1/verify?email=${encodeURIComponent(address)}`;

/** Addresses that nobody has asked about before, of domains that all know. */
function pathsOf(round: string): string[] {
  return planRun(RUN, REQUESTS).map(({ address }) => pathOf(`${round}.${address}`));
}

interface Processes {
  keys: string[];
  api: Child<ApiProcess>;
  apiPort: number;
  raw: Child<RawServer>;
  rawPort: number;
  load: Child<LoadGenerator>;
}

/** The API with the MX of all domains in its cache, and the raw server with the bytes of an answer. */
async function startAll(context: BenchContext, keep: <C extends { end(): Promise<void> }>(child: C) => C) {
  const keys = await makeTeams(context);
  const [key = ""] = keys;
  const mail = keep(await startChild<MailServers>("mail-servers", context));
  const world = await mail.call("start", { latencyMs: 0, runs: [RUN] });
  const api = keep(await startChild<ApiProcess>("api", context));
  const { port: apiPort } = await api.call("start", settingsFor(context, world));
  for (let domain = 0; domain < DOMAINS; domain++)
    await askOnce(apiPort, getRequest(pathOf(`first@${domainName(RUN, domain)}`), key));
  const request = getRequest(pathOf(`sample.user100@${domainName(RUN, 0)}`), key);
  const sample = await askOnce(apiPort, request);
  if (!MARKS.every((mark) => sample.body.includes(mark))) throw new InvalidRun(sample.head + sample.body);
  const raw = keep(await startChild<RawServer>("raw-server", context));
  const { port: rawPort } = await raw.call("start", { fields: ownFields(sample), body: sample.body });
  const copy = await askOnce(rawPort, request);
  const bytes = sample.head.length + 4 + sample.body.length;
  if (copy.head.length + 4 + copy.body.length !== bytes)
    throw new InvalidRun(`the raw server does not send the same bytes:\n${sample.head}\n---\n${copy.head}`);
  const load = keep(await startChild<LoadGenerator>("load", context));
  return { processes: { keys, api, apiPort, raw, rawPort, load } satisfies Processes, bytes };
}

async function measureServer(
  { load, keys }: Processes,
  { name, port, usage }: { name: string; port: number; usage(): Promise<NodeJS.CpuUsage> },
  round: number,
): Promise<Sample> {
  const paths = pathsOf(`${name}${round}`);
  await load.call("prepare", { paths, keys, count: paths.length });
  const loadFor = (forMs: number) =>
    load.call("load", { port, connections: CONNECTIONS, forMs, marks: MARKS });
  const lead = await loadFor(LEAD_MS);
  // The lead's addresses are in the cache: behind them come new ones.
  const rest = paths.slice(lead.answered + CONNECTIONS);
  await load.call("prepare", { paths: rest, keys, count: rest.length });
  const before = await usage();
  const { answered, wrong, wallMs } = await loadFor(RUN_MS);
  const after = await usage();
  requireRight(name, wrong);
  return sampleOf(answered, wallMs, after.user + after.system - before.user - before.system);
}

/** `GET /v1/verify` of addresses that nobody has asked about, by teams without probing. */
export async function benchUncachedVerify(context: BenchContext): Promise<Section> {
  return withChildren(async (keep) => {
    const { processes, bytes } = await startAll(context, keep);
    const { api, apiPort, raw, rawPort } = processes;
    const subject = (name: string, port: number, usage: () => Promise<NodeJS.CpuUsage>): Subject => ({
      run: (round) => measureServer(processes, { name, port, usage }, round),
    });
    const subjects = [
      subject("rcpt", apiPort, () => api.call("usage")),
      subject("raw", rawPort, () => raw.call("usage")),
    ];
    const rounds = context.quick ? ROUNDS.quick : ROUNDS.full;
    const [whole, ceiling] = await interleave(subjects, rounds);
    if (!whole || !ceiling) throw new InvalidRun("a subject is missing");
    return {
      title: "Uncached GET /v1/verify without probing",
      configuration: [
        `${TEAMS} teams, every address new, ${DOMAINS} domains whose MX is cached, ${bytes} bytes an answer; ${CONNECTIONS} keep-alive connections, closed loop, no pipelining`,
        `looked up in Redis, checked by a thread, written to Redis; CPU of all threads of the server; medians of ${rounds} runs of ${RUN_MS / 1000} s by turns`,
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
      targets: [
        {
          id: "http.uncached.cpu",
          what: "uncached GET /v1/verify without probing, CPU a request, all threads",
          unit: "× raw",
          figure: ceiling.cpuUs / whole.cpuUs,
          atLeast: SHARE_OF_RAW,
        },
      ],
      notes: [
        "busy counts all threads of a server: above 100 % where several work at once",
        "a server that is not busy all the while pays more CPU a request, since it gathers less work a turn",
      ],
    };
  });
}
