import { readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { say, sayAndClose } from "../../../test/support/mail-world/action.ts";
import { parentOf } from "../../processes.mjs";
import { DOMAINS, domainEntry, domainName, SITES, siteName } from "../deployment/site-world.ts";
import type { Kind } from "./faults.ts";
import { type FaultContext, type Injury, openOutage } from "./injury.ts";
import type { PlannedFault } from "./schedule.ts";

/** Takes a dependency away; the returned function restores it, and is called after the fault's duration. */
type StartOutage = (context: FaultContext, fault: PlannedFault) => Promise<() => unknown> | (() => unknown);

/** Takes `target` away for the fault's duration. @param target name of the dependency, or a function of the fault */
function away(kind: Kind, target: string | ((fault: PlannedFault) => string), take: StartOutage): Injury {
  return async (fault, context) => {
    const close = openOutage(context, kind, typeof target === "string" ? target : target(fault));
    const bringBack = await take(context, fault);
    await wait(fault.holdMs);
    await bringBack();
    close();
  };
}

export const redisRestart = away("redis-restart", "redis", async ({ deployment: { stores } }) => {
  await stores.stopRedis("SIGTERM");
  return () => stores.startRedis(false);
});

export const redisLoss = away("redis-loss", "redis", async ({ deployment: { stores } }) => {
  await stores.stopRedis("SIGKILL");
  return () => stores.startRedis(true);
});

export const postgresRestart = away("postgres-restart", "postgres", async ({ deployment: { stores } }) => {
  await stores.stopPostgres();
  return () => stores.startPostgres();
});

const RECOVERED_WITHIN_MS = 30_000;

/** Backend processes of the server. Killing one makes the server end all of them and recover from its log. */
function backendsOf(server: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === server);
}

export const postgresCrash: Injury = async (fault, context) => {
  const { stores, sql } = context.deployment;
  const children = backendsOf(stores.postgres().service.pid);
  const victim = children[fault.pick % Math.max(1, children.length)];
  if (victim === undefined) return;
  const close = openOutage(context, "postgres-crash", "postgres");
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

export const objectsFail = away("objects-fail", "objects", ({ deployment: { stores } }, { pick }) => {
  let turn = pick;
  stores.spoilObjects(() => (turn++ % 2 === 0 ? { status: 503, code: "SlowDown" } : null));
  return () => stores.spoilObjects(null);
});

export const objectsStall = away("objects-stall", "objects", ({ deployment: { stores } }, { holdMs }) => {
  const over = wait(holdMs);
  stores.spoilObjects(() => ({ until: over }));
  return () => stores.spoilObjects(null);
});

export const objectsCut = away("objects-cut", "objects", ({ deployment: { stores } }, { pick }) => {
  let turn = pick;
  stores.spoilObjects(() => {
    turn += 1;
    if (turn % 3 === 0) return { afterBytes: CUT_AFTER_BYTES, ending: "cut" };
    return turn % 3 === 1 ? "answer lost" : null;
  });
  return () => stores.spoilObjects(null);
});

const siteOf = ({ pick }: PlannedFault) => siteName(pick % SITES);

export const smtpFail = away("smtp-fail", siteOf, ({ deployment: { world } }, fault) => {
  const host = world.host(siteOf(fault));
  host.setBehaviour("greeting", () => sayAndClose("421 4.3.2 Service not available, closing channel"));
  host.setBehaviour("rcpt", () => say("451 4.3.0 Temporary lookup failure"));
  return () => {
    host.setBehaviour("greeting", null);
    host.setBehaviour("rcpt", null);
  };
});

export const smtpStall = away("smtp-stall", siteOf, ({ deployment: { world } }, fault) => {
  const host = world.host(siteOf(fault));
  host.hold("rcpt");
  return () => host.release();
});

const CUT_EVERY_MS = 150;

export const smtpCut = away("smtp-cut", siteOf, ({ deployment: { world } }, fault) => {
  const host = world.host(siteOf(fault));
  host.cut();
  const cutting = setInterval(() => host.cut(), CUT_EVERY_MS);
  return () => clearInterval(cutting);
});

export const dnsSilence = away("dns-silence", "dns", ({ deployment: { world } }) => {
  world.dns.hold();
  return () => world.dns.release();
});

export const dnsFail = away("dns-fail", "dns", ({ deployment: { world } }, { pick }) => {
  const failing = Array.from({ length: DOMAINS }, (_, domain) => domain).filter(
    (domain) => (domain + pick) % 3 === 0,
  );
  for (const domain of failing)
    world.dns.set(domainName(domain), { ...domainEntry(domain), faults: { MX: "servfail" } });
  return () => {
    for (const domain of failing) world.dns.set(domainName(domain), domainEntry(domain));
  };
});

export const webhook = away("webhook", "receiver", ({ hooks }) => {
  hooks.fail(true);
  return () => hooks.fail(false);
});
