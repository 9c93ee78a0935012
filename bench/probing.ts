import { type Child, startChild } from "./child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "./context.ts";
import { InvalidRun, interleave, type Sample, type Subject, type Summary } from "./figures.ts";
import { CONNECTIONS, CONNECTIONS_PER_SITE, DOMAINS, SITES } from "./plan.ts";
import type { BareClient } from "./processes/bare-client.ts";
import type { EngineProcess } from "./processes/engine.ts";
import type { MailServers } from "./processes/mail-servers.ts";
import { type Line, ratio, type Section } from "./table.ts";

const ROUNDS = 3;
const DEPTH = 10;

/** Addresses a run, so that each takes about a second or two on a small machine. */
const COUNTS = {
  0: { engine: 20_000, deep: 40_000, lockStep: 20_000, perAddress: 6_000 },
  20: { engine: 20_000, deep: 40_000, lockStep: 6_000, perAddress: 3_000 },
} as const;

interface Processes {
  mail: Child<MailServers>;
  engine: Child<EngineProcess>;
  bare: Child<BareClient>;
  port: number;
  latencyMs: number;
}

/** Domains of its own for each round at each delay: what Redis knows of a domain is never asked again. */
function runOf(latencyMs: number, round: number): number {
  return latencyMs * 10 + round;
}

/**
 * The whole engine, threads, classification, evidence and catch-all question included, against clients that only
 * talk: one with as many connections in lock step, one with as many and ten addresses a write, and one with a
 * connection for each address, as other verifiers do it (without their random address, in their favour).
 */
export async function benchProbing(context: BenchContext, latencyMs: keyof typeof COUNTS): Promise<Section> {
  const counts = COUNTS[latencyMs];
  return withChildren(async (keep) => {
    const mail = keep(await startChild<MailServers>("mail-servers", context));
    const runs = Array.from({ length: ROUNDS + 1 }, (_, round) => runOf(latencyMs, round));
    const world = await mail.call("start", { latencyMs, runs });
    const engine = keep(await startChild<EngineProcess>("engine", context));
    const { threads } = await engine.call("start", settingsFor(context, world));
    const bare = keep(await startChild<BareClient>("bare-client", context));
    const processes = { mail, engine, bare, port: world.smtpPort, latencyMs };
    const sessions: number[] = [];
    const subjects = [
      probing(processes, counts.engine, sessions),
      bareSubject(processes, "bare, lock step", (run, port) =>
        bare.call("pooled", { run, count: counts.lockStep, depth: 1, port }),
      ),
      bareSubject(processes, `bare, ${DEPTH} a write`, (run, port) =>
        bare.call("pooled", { run, count: counts.deep, depth: DEPTH, port }),
      ),
      bareSubject(processes, "connection per address", (run, port) =>
        bare.call("perAddress", { run, count: counts.perAddress, port }),
      ),
    ];
    const [whole, lockStep, deep, perAddress] = await interleave(subjects, ROUNDS);
    if (!whole || !lockStep || !deep || !perAddress) throw new InvalidRun("a subject is missing");
    return {
      title: `Probing, ${latencyMs} ms a round trip`,
      configuration: configurationOf(counts, threads),
      unit: "addresses",
      lines: linesOf({ whole, lockStep, deep, perAddress }),
      targets: [],
      notes: [
        `the engine opened ${sessions.slice(1).join(", ")} connections in its runs: a session ends after 8 refusals or 100 addresses`,
        "all sinks share one process: where a client is less busy than a core, the sinks or the delay are its bound",
      ],
    };
  });
}

function configurationOf(counts: (typeof COUNTS)[keyof typeof COUNTS], threads: number): string[] {
  const { engine, lockStep, deep, perAddress } = counts;
  return [
    `${SITES} sites with ${CONNECTIONS_PER_SITE} connections each (the default of shaping.json): ${CONNECTIONS} for every client`,
    `engine: ${threads} threads, ${engine} addresses of ${DOMAINS} new domains a run, 1 in 10 missing; no TLS`,
    `bare: ${lockStep} in lock step, ${deep} ten a write, ${perAddress} a connection each; medians of ${ROUNDS} runs by turns`,
  ];
}

function linesOf(of: Record<"whole" | "lockStep" | "deep" | "perAddress", Summary>): Line[] {
  const { whole, lockStep, deep, perAddress } = of;
  const inCpu = ratio(perAddress.cpuUs, whole.cpuUs, "in CPU");
  const ratios = [
    ratio(whole.perS, lockStep.perS, "lock step"),
    ratio(whole.perS, deep.perS, `${DEPTH} a write`),
    `${ratio(whole.perS, perAddress.perS, "connection per address")} (${inCpu})`,
  ];
  return [
    { name: "engine", figures: whole, ratios },
    { name: "bare, lock step", figures: lockStep, ratios: ["ceiling of one address at a time"] },
    { name: `bare, ${DEPTH} a write`, figures: deep, ratios: ["ceiling of a pipeline as deep"] },
    { name: "connection per address", figures: perAddress, ratios: ["what others do"] },
  ];
}

function probing({ mail, engine, latencyMs }: Processes, count: number, sessions: number[]): Subject {
  return {
    async run(round): Promise<Sample> {
      await mail.call("quiet");
      const input = { run: runOf(latencyMs, round), count, scope: "probed" } as const;
      const { sample, wrong } = await engine.call("check", input);
      requireRight("engine", wrong);
      const { connections, recipients, maxOpenPerSite } = await mail.call("account");
      // Each address, and one that nobody has for each domain.
      if (recipients < count + DOMAINS)
        throw new InvalidRun(`engine: ${recipients} questions for ${count} addresses of ${DOMAINS} domains`);
      if (maxOpenPerSite > CONNECTIONS_PER_SITE)
        throw new InvalidRun(`engine: ${maxOpenPerSite} connections to one site`);
      sessions.push(connections);
      return sample;
    },
  };
}

type BareRun = (run: number, port: number) => Promise<{ sample: Sample; wrong: number }>;

function bareSubject({ port, latencyMs }: Processes, name: string, ask: BareRun): Subject {
  return {
    async run(round): Promise<Sample> {
      const { sample, wrong } = await ask(runOf(latencyMs, round), port);
      requireRight(name, wrong);
      return sample;
    },
  };
}
