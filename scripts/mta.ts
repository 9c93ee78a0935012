// npm run mta [-- --only postfix,exim] [--transcripts]
//
// Runs real mail servers of the distribution on loopback, and compares the service's answers with the servers' replies.
// Exit code: 0 all as expected; 1 a difference or a failure; 2 a server could not be set up, the rest is as expected.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createDnsServer } from "../test/support/mail-world/dns-server.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { unpackPackages } from "./embedded/packages.ts";
import { whyNoPackages } from "./embedded/private-apt.ts";
import { type BurstOutcome, burstFaults, renderBursts, renderLimits } from "./mta/burst.ts";
import { type Comparison, renderDetails, renderTable } from "./mta/comparison.ts";
import type { WornOut } from "./mta/dialogue.ts";
import { exim } from "./mta/exim.ts";
import type { Burst, MailServer } from "./mta/mail-server.ts";
import { serveNames } from "./mta/names.ts";
import { opensmtpd } from "./mta/opensmtpd.ts";
import { commonFreePort } from "./mta/ports.ts";
import { postfix } from "./mta/postfix.ts";
import { askBursts, compareAll, type Heard, hear, identity, provoke, renderHeard } from "./mta/run.ts";
import { type RunningServer, startMailServer, whyNoSandbox } from "./mta/sandbox.ts";
import { startRcpt } from "./mta/service.ts";
import { zoneOf } from "./mta/zone.ts";

const CACHE = resolve(import.meta.dirname, "../.rcpt/cache");
const SERVERS: readonly MailServer[] = [postfix, exim, opensmtpd];

/** One run of this command: what ends its processes, and the word that it is ending. */
interface Run {
  guard: Guard;
  /** Aborted before the guard ends: nothing may be started from then on. */
  stop: AbortSignal;
  port: number;
}

function readOptions(): { servers: readonly MailServer[]; transcriptsOnly: boolean } {
  const { values } = parseArgs({ options: { only: { type: "string" }, transcripts: { type: "boolean" } } });
  const names = values.only?.split(",") ?? SERVERS.map(({ name }) => name);
  const unknown = names.find((name) => !SERVERS.some((server) => server.name === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of postfix, exim, opensmtpd`);
  return {
    servers: SERVERS.filter(({ name }) => names.includes(name)),
    transcriptsOnly: values.transcripts ?? false,
  };
}

/** The servers that came up. For each of the others a line says that it is skipped, and why. */
async function startServers(
  servers: readonly MailServer[],
  { guard, stop, port }: Run,
): Promise<RunningServer[]> {
  const running: RunningServer[] = [];
  for (const server of servers) {
    try {
      const root = await unpackPackages(server.name, server.packages, {
        cacheDir: join(CACHE, "mta"),
        guard,
        stop,
      });
      stop.throwIfAborted();
      running.push(await startMailServer(server, port, root, guard));
      const places = `${server.listeners.length} addresses from ${server.listeners[0]?.ip} on, port ${port}`;
      console.log(`${server.name}: runs on ${places}, in namespaces of its own, changes in memory only`);
    } catch (error) {
      stop.throwIfAborted();
      console.log(`${server.name}: left out: ${(error as Error).message}`);
    }
  }
  return running;
}

interface Seen {
  comparisons: Comparison[];
  bursts: BurstOutcome[];
  provoked: ReadonlyMap<Burst, WornOut>;
}

/** Compares the service's answers with the replies; mailboxes that need the null sender get a service of their own. */
async function compareWithService(
  heard: readonly Heard[],
  running: readonly RunningServer[],
  { guard, stop, port }: Run,
): Promise<Seen> {
  const dns = await createDnsServer(zoneOf(running.map(({ server }) => server)));
  const settings = { dnsServer: dns.address, smtpPort: port };
  try {
    const provoking = provoke(running, port);
    const service = await startRcpt({ ...settings, ...identity(false) }, guard, stop);
    const provoked = await provoking;
    const named = heard.filter(({ mailbox }) => !mailbox.nullSender);
    const comparisons = await compareAll(named, service);
    const bursts = await askBursts(running, service);
    const nameless = heard.filter(({ mailbox }) => mailbox.nullSender);
    const other = await startRcpt({ ...settings, ...identity(true) }, guard, stop);
    comparisons.push(...(await compareAll(nameless, other)));
    return { comparisons, bursts, provoked };
  } finally {
    await dns.close();
  }
}

/** Prints the matrix, the bursts, then every dialogue. Resolves to whether all is as expected. */
function report({ comparisons, bursts, provoked }: Seen): boolean {
  const failed = comparisons.filter(({ differences }) => differences.length > 0).length;
  const missed = bursts.filter((burst) => burstFaults(burst).length > 0).length;
  console.log(["", ...renderTable(comparisons), "", ...renderBursts(bursts, provoked)].join("\n"));
  console.log(
    ["", "What was said:", ...renderDetails(comparisons), ...renderLimits(bursts, provoked)].join("\n"),
  );
  console.log(
    `\n${comparisons.length} situations, ${failed} not as expected; ${bursts.length} limits, ${missed} not as expected`,
  );
  return failed === 0 && missed === 0;
}

/** Resolves to the exit code. */
async function main(guard: Guard, stop: AbortSignal): Promise<number> {
  const { servers, transcriptsOnly } = readOptions();
  const why = whyNoPackages() ?? (await whyNoSandbox());
  if (why !== null) {
    console.log(`mta: this command ${why}; nothing was done`);
    return 2;
  }
  const names = await serveNames();
  if (typeof names === "string") console.log(`mta: what needs names is left out: ${names}`);
  const ips = servers.flatMap(({ listeners }) => listeners.map(({ ip }) => ip));
  const run = { guard, stop, port: await commonFreePort(ips) };
  const running = await startServers(servers, run);
  const heard = await hear(running, run.port, typeof names !== "string");
  if (transcriptsOnly) console.log(renderHeard(heard).join("\n"));
  else if (heard.length > 0) {
    if (!report(await compareWithService(heard, running, run))) return 1;
  }
  return running.length === servers.length && typeof names !== "string" ? 0 : 2;
}

runGuarded(main, { interruptedCode: 1 });
