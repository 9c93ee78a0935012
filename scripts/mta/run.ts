import { setTimeout as wait } from "node:timers/promises";
import { askBurst, type BurstAnswers, type BurstOutcome } from "./burst.ts";
import { type Comparison, compare } from "./comparison.ts";
import { askServer, type RawReply, type WornOut, wearOut } from "./dialogue.ts";
import { type Burst, keepers, type Listener, type LogReading, type Mailbox } from "./mail-server.ts";
import type { RunningServer } from "./sandbox.ts";
import type { RunningService } from "./service.ts";

const HELO_NAME = "probe.rcpt.test";
const SENDER = "probe@rcpt.test";
const OTHER_SENDER = "listener@rcpt.test";
/** Both clocks tick in whole seconds somewhere. */
const GREYLIST_SLACK_MS = 1_500;
/** More than any server here allows a session. */
const PROVOKED_BY = 120;
const LOG_LINES_SHOWN = 15;
/** The service closes idle sessions after 5 s, and servers log a session when it ends. */
const SESSIONS_END_MS = 7_000;

/** The service's HELO name and MAIL FROM: the null sender for mailboxes that need it. */
export const identity = (nullSender: boolean) => ({
  heloName: HELO_NAME,
  mailFrom: nullSender ? "<>" : SENDER,
});

export interface Heard {
  running: RunningServer;
  mailbox: Mailbox;
  listener: Listener;
  raw: RawReply | null;
}

function listenerOf({ server }: RunningServer, address: string): Listener {
  const domain = address.slice(address.lastIndexOf("@") + 1);
  const found = server.listeners.find(({ domains }) => domains.includes(domain));
  if (found === undefined) throw new Error(`${server.name} has no listener for ${domain}`);
  return found;
}

/** A server's reply about a mailbox; null where this client cannot ask. */
async function hearOne({ ip }: Listener, mailbox: Mailbox, port: number): Promise<RawReply | null> {
  if (mailbox.kind === "no_smtputf8") return null;
  const { raw = {}, nullSender, address } = mailbox;
  const { sender, recipient = address, localAddress, tls = false, times = 1 } = raw;
  const mailFrom = nullSender ? "" : (sender ?? SENDER);
  const from = localAddress === undefined ? {} : { localAddress };
  let reply: RawReply | null = null;
  for (let asked = 0; asked < times; asked++)
    reply = await askServer({ ip, port, heloName: HELO_NAME, mailFrom, recipient, tls, ...from });
  return reply;
}

/** Each server's reply about each of its mailboxes. */
export async function hear(
  servers: readonly RunningServer[],
  port: number,
  withDns: boolean,
): Promise<Heard[]> {
  const heard: Heard[] = [];
  for (const running of servers) {
    for (const mailbox of running.server.mailboxes) {
      if (mailbox.needsDns && !withDns) continue;
      const listener = listenerOf(running, mailbox.address);
      const raw = await hearOne(listener, mailbox, port).catch((error: Error) => {
        const logged = running.log().trimEnd().split("\n").slice(-LOG_LINES_SHOWN).join("\n");
        throw new Error(
          `${running.server.name}, ${mailbox.situation}: ${error.message}; it logged\n${logged}`,
        );
      });
      heard.push({ running, mailbox, listener, raw });
    }
  }
  return heard;
}

/** Compares the service's answer to each address; asks again about the greylisted ones after their wait. */
export async function compareAll(heard: readonly Heard[], service: RunningService): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const { running, mailbox, listener, raw } of heard) {
    const cell = { ...mailbox, server: running.server.name, host: listener.host };
    comparisons.push(compare(cell, raw, await service.ask(mailbox.address, false)));
  }
  const greylisted = heard.filter(({ mailbox }) => mailbox.kind === "greylisted");
  const delays = greylisted.map(({ running }) => running.server.greylistMs);
  if (delays.length > 0) await wait(Math.max(...delays) + GREYLIST_SLACK_MS);
  for (const { running, mailbox, listener } of greylisted) {
    const cell = {
      ...mailbox,
      server: running.server.name,
      host: listener.host,
      kind: "existing",
      situation: `  after its wait of ${running.server.greylistMs / 1_000} s`,
    } as const;
    const at = comparisons.findIndex(({ address }) => address === mailbox.address) + 1;
    comparisons.splice(at, 0, compare(cell, null, await service.ask(mailbox.address, true)));
  }
  return comparisons;
}

/** How each server ends a session that exceeds its limits. */
export async function provoke(
  servers: readonly RunningServer[],
  port: number,
): Promise<ReadonlyMap<Burst, WornOut>> {
  const asked = servers.flatMap((running) =>
    running.server.bursts
      .filter(({ limit }) => limit !== "connections")
      .map(async (burst): Promise<[Burst, WornOut]> => {
        const { ip } = listenerOf(running, `@${burst.domain}`);
        const wrong = burst.limit === "wrong";
        const locals = wrong
          ? Array.from({ length: PROVOKED_BY }, (_, index) => `wrong${index}`)
          : keepers(PROVOKED_BY);
        const recipients = locals.map((local) => `${local}@${burst.domain}`);
        const question = { ip, port, heloName: HELO_NAME, mailFrom: OTHER_SENDER, recipient: "", tls: false };
        return [burst, await wearOut(question, recipients, !wrong)];
      }),
  );
  return new Map(await Promise.all(asked));
}

/**
 * Runs the bursts: the first of each server, then the second of each, and so on. Reads the servers' logs once all
 * sessions are over, idle ones too, since some servers count sessions over all their addresses.
 */
export async function askBursts(
  servers: readonly RunningServer[],
  service: RunningService,
): Promise<BurstOutcome[]> {
  const outcomes: BurstOutcome[] = [];
  const rounds = Math.max(0, ...servers.map(({ server }) => server.bursts.length));
  if (rounds > 0) await wait(SESSIONS_END_MS);
  for (let round = 0; round < rounds; round++) {
    const asked: { answers: BurstAnswers; read(): LogReading }[] = [];
    for (const running of servers) {
      const burst = running.server.bursts[round];
      if (burst === undefined) continue;
      const from = running.log().length;
      const listener = listenerOf(running, `@${burst.domain}`);
      const ask = (address: string) => service.ask(address, false);
      const answers = await askBurst(running.server.name, burst, ask);
      asked.push({ answers, read: () => running.server.read(running.log().slice(from), listener) });
    }
    await wait(SESSIONS_END_MS);
    outcomes.push(...asked.map(({ answers, read }) => ({ ...answers, reading: read() })));
  }
  return outcomes;
}

/** The servers' replies, verbatim. */
export function renderHeard(heard: readonly Heard[]): string[] {
  return heard.flatMap(({ running, mailbox, raw }) => [
    `${running.server.name}, ${mailbox.situation}: <${mailbox.address}>`,
    ...(raw?.lines ?? ["was not asked"]).map((line) => `    ${line}`),
  ]);
}
