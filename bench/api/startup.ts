import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { freePort } from "../../scripts/embedded/ports.ts";
import { cpuMsOf } from "../cpu/process-cpu.ts";
import { residentOf } from "../cpu/resident.ts";
import { InvalidRun, median } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import { SERVICE } from "../setup/compile.ts";
import { type BenchContext, settingsFor } from "../setup/context.ts";

const SPAWNS = { full: 7, quick: 5 };
const START_MAX_S = 1;
const MIB = 1_048_576;
const POLL_MS = 2;
const READY_WITHIN_MS = 30_000;
const END_WITHIN_MS = 30_000;
/** No server listens there: only checks look names up, and none is made. */
const NO_DNS = "127.0.0.1:9";

interface Start {
  readyMs: number;
  cpuMs: number;
  residentBytes: number;
}

/** The status of /readyz; null: no answer. */
function readiness(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
    });
    asked.on("error", () => resolve(null));
    asked.end();
  });
}

async function untilReady(port: number, isGone: () => boolean): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while ((await readiness(port)) !== 200) {
    if (isGone()) throw new InvalidRun("the API ended before it was ready");
    if (performance.now() > deadline) throw new InvalidRun("the API was not ready in time");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** From the spawn of `node main.js` until /readyz says 200: database, Redis, object storage and check threads answer. */
async function startOnce(context: BenchContext, settings: Record<string, string>): Promise<Start> {
  const port = await freePort();
  const startedMs = performance.now();
  const child = spawn(process.execPath, [join(context.compiledDir, SERVICE)], {
    env: { PATH: process.env.PATH, ...context.guard.env, ...settings, PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (child.pid === undefined) throw new Error("the API cannot be started");
  context.guard.hold(child.pid, "SIGTERM", END_WITHIN_MS);
  const exited = once(child, "exit");
  try {
    await untilReady(port, () => child.exitCode !== null || child.signalCode !== null);
    const readyMs = performance.now() - startedMs;
    return { readyMs, cpuMs: cpuMsOf(child.pid), residentBytes: residentOf(child.pid).now };
  } finally {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
    await exited;
    clearTimeout(force);
  }
}

function settingsOf(context: BenchContext): Record<string, string> {
  return {
    ...settingsFor(context, { dnsServer: NO_DNS, smtpPort: 25 }),
    ...context.objectSettings,
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    ROLE: "api",
    LOG_LEVEL: "warn",
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
}

function rowOf(name: string, { readyMs, cpuMs, residentBytes }: Start): string[] {
  return [
    name,
    `${Math.round(readyMs)} ms`,
    `${Math.round(cpuMs)} ms`,
    `${Math.round(residentBytes / MIB)} MiB`,
  ];
}

/** Measures how long a deployment waits for an API process that it adds or replaces, with all dependencies up. */
export async function benchStartup(context: BenchContext): Promise<Section> {
  const spawns = context.quick ? SPAWNS.quick : SPAWNS.full;
  const settings = settingsOf(context);
  const starts: Start[] = [];
  for (let at = 0; at <= spawns; at++) starts.push(await startOnce(context, settings));
  // The first reads its files from the disk.
  const [, ...warm] = starts;
  const medianOf = (of: (start: Start) => number) => median(warm.map(of));
  const middle = {
    readyMs: medianOf(({ readyMs }) => readyMs),
    cpuMs: medianOf(({ cpuMs }) => cpuMs),
    residentBytes: medianOf(({ residentBytes }) => residentBytes),
  };
  return {
    title: "Start of the API",
    configuration: [
      "compiled; Postgres (migrated), Redis and object storage are running; defaults otherwise",
      `from the spawn of node main.js until /readyz says 200, asked every ${POLL_MS} ms; ${spawns} spawns after one that is not counted`,
    ],
    unit: "starts",
    lines: [],
    table: [
      ["", "ready after", "CPU", "resident"],
      ...warm.map((start, at) => rowOf(`start ${at + 1}`, start)),
      rowOf("median", middle),
    ],
    notes: [],
    targets: [
      {
        id: "startup.api",
        what: "API, from spawn to ready on running services",
        unit: "s",
        figure: middle.readyMs / 1_000,
        atMost: START_MAX_S,
      },
      {
        id: "startup.api.cpu",
        what: "API, CPU until it is ready, all threads",
        unit: "s",
        figure: middle.cpuMs / 1_000,
      },
    ],
  };
}
