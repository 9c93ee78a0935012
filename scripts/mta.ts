// npm run mta [-- --only postfix,exim] [--transcripts]
//
// Real mail servers of the distribution on loopback, and the service's answers beside what they really said.
// Exit code: 0 all as expected; 1 a difference or a failure; 2 a server could not be set up, the rest is as expected.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createDnsServer } from "../test/support/mail-world/dns-server.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { whyNoPackages } from "./embedded/private-apt.ts";
import { type Comparison, compare, renderTable } from "./mta/comparison.ts";
import { askServer, type RawReply } from "./mta/dialogue.ts";
import { exim } from "./mta/exim.ts";
import type { Mailbox, MailServer } from "./mta/mail-server.ts";
import { opensmtpd } from "./mta/opensmtpd.ts";
import { unpackPackages } from "./mta/packages.ts";
import { commonFreePort } from "./mta/ports.ts";
import { postfix } from "./mta/postfix.ts";
import { startMailServer, whyNoSandbox } from "./mta/sandbox.ts";
import { startRcpt } from "./mta/service.ts";
import { zoneOf } from "./mta/zone.ts";

const CACHE = resolve(import.meta.dirname, "../.rcpt/cache");
const SERVERS: readonly MailServer[] = [postfix, exim, opensmtpd];
const SENDER = { heloName: "probe.rcpt.test", mailFrom: "probe@rcpt.test" };

/** One run of this command: what ends its processes, and the word that it is ending. */
interface Run {
  guard: Guard;
  /** Aborted before the guard ends: nothing may be started from then on. */
  stop: AbortSignal;
  port: number;
}

interface Heard {
  server: MailServer;
  mailbox: Mailbox;
  raw: RawReply;
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

/** Those that came up; the others are said to be left out, and why. */
async function startServers(
  servers: readonly MailServer[],
  { guard, stop, port }: Run,
): Promise<MailServer[]> {
  const running: MailServer[] = [];
  for (const server of servers) {
    try {
      const root = await unpackPackages(server.name, server.packages, join(CACHE, "mta"), guard, stop);
      stop.throwIfAborted();
      await startMailServer(server, { ip: server.ip, port }, root, guard);
      console.log(
        `${server.name}: runs on ${server.ip}:${port}, in namespaces of its own, changes in memory only`,
      );
      running.push(server);
    } catch (error) {
      stop.throwIfAborted();
      console.log(`${server.name}: left out: ${(error as Error).message}`);
    }
  }
  return running;
}

/** What each server says of each of its mailboxes, printed as it comes. */
async function hear(servers: readonly MailServer[], port: number): Promise<Heard[]> {
  const heard: Heard[] = [];
  for (const server of servers) {
    for (const mailbox of server.mailboxes) {
      const raw = await askServer({ ip: server.ip, port }, SENDER, mailbox.address);
      console.log(`RCPT TO:<${mailbox.address}>`);
      for (const line of raw.lines) console.log(`    ${line}`);
      heard.push({ server, mailbox, raw });
    }
  }
  return heard;
}

/** The service's answer to each address heard of. */
async function compareAll(heard: readonly Heard[], { guard, stop, port }: Run): Promise<Comparison[]> {
  const dns = await createDnsServer(zoneOf([...new Set(heard.map(({ server }) => server))]));
  try {
    const settings = { dnsServer: dns.address, smtpPort: port, ...SENDER };
    const service = await startRcpt(settings, guard, stop);
    const comparisons: Comparison[] = [];
    for (const { server, mailbox, raw } of heard)
      comparisons.push(compare(server, mailbox, raw, await service.ask(mailbox.address)));
    return comparisons;
  } finally {
    await dns.close();
  }
}

/** Resolves to the exit code. */
async function main(guard: Guard, stop: AbortSignal): Promise<number> {
  const { servers, transcriptsOnly } = readOptions();
  const why = whyNoPackages() ?? (await whyNoSandbox());
  if (why !== null) {
    console.log(`mta: this command ${why}; nothing was done`);
    return 2;
  }
  const run = { guard, stop, port: await commonFreePort(servers.map(({ ip }) => ip)) };
  const running = await startServers(servers, run);
  const heard = await hear(running, run.port);
  if (!transcriptsOnly && heard.length > 0) {
    const comparisons = await compareAll(heard, run);
    console.log(["", ...renderTable(comparisons)].join("\n"));
    const wrong = comparisons.filter(({ differences }) => differences.length > 0).length;
    console.log(`\n${comparisons.length} addresses, ${wrong} not as expected`);
    if (wrong > 0) return 1;
  }
  return running.length === servers.length ? 0 : 2;
}

runGuarded(main, { interruptedCode: 1 });
