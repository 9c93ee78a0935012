import { readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { say, sayAndClose } from "../../../test/support/mail-world/action.ts";
import { parentOf } from "../../processes.mjs";
import { DOMAINS, domainEntry, domainName, SITES, siteName } from "../deployment/site-world.ts";
import { type Injury, openOutage } from "./injury.ts";

export const redisRestart: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "redis-restart", "redis");
  await stores.stopRedis("SIGTERM");
  await wait(fault.holdMs);
  await stores.startRedis(false);
  close();
};

export const redisLoss: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "redis-loss", "redis");
  await stores.stopRedis("SIGKILL");
  await wait(fault.holdMs);
  await stores.startRedis(true);
  close();
};

export const postgresRestart: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "postgres-restart", "postgres");
  await stores.stopPostgres();
  await wait(fault.holdMs);
  await stores.startPostgres();
  close();
};

const RECOVERED_WITHIN_MS = 30_000;

/** Children of the server that serve somebody: a killed one takes all with it, and the server recovers from its log. */
function backendsOf(server: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === server);
}

export const postgresCrash: Injury = async (fault, theatre) => {
  const { stores, sql } = theatre.deployment;
  const children = backendsOf(stores.postgres().service.pid);
  const victim = children[fault.pick % Math.max(1, children.length)];
  if (victim === undefined) return;
  const close = openOutage(theatre, "postgres-crash", "postgres");
  process.kill(victim, "SIGKILL");
  await wait(fault.holdMs);
  const untilMs = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const answered = await sql`select 1`.then(
      () => true,
      () => false,
    );
    if (answered || performance.now() > untilMs) break;
    await wait(50);
  }
  close();
};

const CUT_AFTER_BYTES = 2_000;

export const objectsFail: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "objects-fail", "objects");
  let turn = fault.pick;
  stores.spoilObjects(() => (turn++ % 2 === 0 ? { status: 503, code: "SlowDown" } : null));
  await wait(fault.holdMs);
  stores.spoilObjects(null);
  close();
};

export const objectsStall: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "objects-stall", "objects");
  const over = wait(fault.holdMs);
  stores.spoilObjects(() => ({ until: over }));
  await over;
  stores.spoilObjects(null);
  close();
};

export const objectsCut: Injury = async (fault, theatre) => {
  const { stores } = theatre.deployment;
  const close = openOutage(theatre, "objects-cut", "objects");
  let turn = fault.pick;
  stores.spoilObjects(() => {
    turn += 1;
    if (turn % 3 === 0) return { afterBytes: CUT_AFTER_BYTES, ending: "cut" };
    return turn % 3 === 1 ? "answer lost" : null;
  });
  await wait(fault.holdMs);
  stores.spoilObjects(null);
  close();
};

export const smtpFail: Injury = async (fault, theatre) => {
  const { world } = theatre.deployment;
  const host = world.host(siteName(fault.pick % SITES));
  const close = openOutage(theatre, "smtp-fail", host.name);
  host.setBehaviour("greeting", () => sayAndClose("421 4.3.2 Service not available, closing channel"));
  host.setBehaviour("rcpt", () => say("451 4.3.0 Temporary lookup failure"));
  await wait(fault.holdMs);
  host.setBehaviour("greeting", null);
  host.setBehaviour("rcpt", null);
  close();
};

export const smtpStall: Injury = async (fault, theatre) => {
  const { world } = theatre.deployment;
  const host = world.host(siteName(fault.pick % SITES));
  const close = openOutage(theatre, "smtp-stall", host.name);
  host.hold("rcpt");
  await wait(fault.holdMs);
  host.release();
  close();
};

const CUT_EVERY_MS = 150;

export const smtpCut: Injury = async (fault, theatre) => {
  const { world } = theatre.deployment;
  const host = world.host(siteName(fault.pick % SITES));
  const close = openOutage(theatre, "smtp-cut", host.name);
  const untilMs = performance.now() + fault.holdMs;
  while (performance.now() < untilMs) {
    host.cut();
    await wait(CUT_EVERY_MS);
  }
  close();
};

export const dnsSilence: Injury = async (fault, theatre) => {
  const { dns } = theatre.deployment.world;
  const close = openOutage(theatre, "dns-silence", "dns");
  dns.hold();
  await wait(fault.holdMs);
  dns.release();
  close();
};

export const dnsFail: Injury = async (fault, theatre) => {
  const { dns } = theatre.deployment.world;
  const close = openOutage(theatre, "dns-fail", "dns");
  const failing = Array.from({ length: DOMAINS }, (_, domain) => domain).filter(
    (domain) => (domain + fault.pick) % 3 === 0,
  );
  for (const domain of failing)
    dns.set(domainName(domain), { ...domainEntry(domain), faults: { MX: "servfail" } });
  await wait(fault.holdMs);
  for (const domain of failing) dns.set(domainName(domain), domainEntry(domain));
  close();
};

export const webhook: Injury = async (fault, theatre) => {
  const close = openOutage(theatre, "webhook", "receiver");
  theatre.hooks.fail(true);
  await wait(fault.holdMs);
  theatre.hooks.fail(false);
  close();
};
