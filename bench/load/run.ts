import { randomBytes } from "node:crypto";
import { createRandom } from "../../scripts/suggestions/random-ints.ts";
import type { Clock } from "../../src/platform/time/clock.ts";
import { type AddressSource, createListedAddresses, createMadeUpAddresses, readEmails } from "./addresses.ts";
import { LIMITS } from "./bounds.ts";
import { type BulkDriver, createBulkDriver } from "./bulk.ts";
import { createClosedLoop } from "./closed-loop.ts";
import { createConnection } from "./connection.ts";
import { createOpenLoop } from "./open-loop.ts";
import type { LoadOptions } from "./options.ts";
import { createPause } from "./pause.ts";
import { createProgress, type ProgressStream } from "./report/progress.ts";
import type { RunResult } from "./report/report.ts";
import { createArrivals } from "./schedule.ts";
import type { Loop, LoopEnd, LoopParts } from "./sender.ts";
import { Tally } from "./tally.ts";
import { createTraffic } from "./traffic.ts";

export interface RunParts {
  options: LoadOptions;
  key: string;
  clock: Clock;
  progress: ProgressStream;
  /** The user wants it to end: no more is sent. */
  interrupted: AbortSignal;
  /** At once, that is. */
  hurried: AbortSignal;
  notes: string[];
}

const TICK_MS = 1_000;
const RUN_NAME_BYTES = 4;

const isTestKey = (key: string) => key.startsWith("rcpt_test_");
export const isLiveKey = (key: string) => !isTestKey(key);

async function addressesFor(
  options: LoadOptions,
  key: string,
  run: string,
  random: () => number,
): Promise<AddressSource> {
  const settings = { hotMax: options.hot, random };
  if (options.emails === null) return createMadeUpAddresses(settings, run, isTestKey(key));
  return createListedAddresses(settings, await readEmails(options.emails, options.bounds.emails));
}

function loopOf(options: LoadOptions, parts: LoopParts, random: () => number): Loop | null {
  const { loop } = options;
  if (loop.kind === "none") return null;
  if (loop.kind === "closed") return createClosedLoop({ ...parts, profile: loop.profile });
  const arrivals = createArrivals(loop.profile, loop.arrivals, random);
  return createOpenLoop({ ...parts, arrivals, backlogMax: loop.backlog });
}

/** Everything in a run that has state. */
interface Assembled {
  tally: Tally;
  loop: Loop | null;
  bulk: BulkDriver | null;
  close(): void;
}

function assemble(
  { options, key, clock, interrupted }: RunParts,
  run: string,
  addresses: AddressSource,
): Assembled {
  const random = createRandom(options.seed);
  const tally = new Tally();
  const endMs = options.warmUpMs + options.durationMs;
  const settings = { origin: options.origin, key, timeoutMs: options.timeoutMs, clock };
  const count = options.loop.kind === "none" ? 0 : options.connections;
  const connections = Array.from({ length: count }, () => createConnection(settings));
  const parts: LoopParts = {
    ...{ clock, connections, tally, endMs },
    traffic: createTraffic(options.mix, addresses, options.basePath, random),
    pause: createPause(options.heedRetryAfter),
    warmUpMs: options.warmUpMs,
    requestsMax: options.requests,
    graceMs: options.graceMs,
  };
  const { origin, basePath, mix, bulk: plan } = options;
  const service = { origin, basePath, key };
  const bulkParts = { repeat: mix.repeat, service, addresses, clock, run, endMs, stopping: interrupted };
  return {
    tally,
    loop: loopOf(options, parts, random),
    bulk: plan === null ? null : createBulkDriver({ ...bulkParts, plan }),
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

/**
 * Runs a load to its end. The result counts every planned request, whatever its outcome.
 * @throws UsageError when the file of addresses is unusable
 */
export async function runLoad(parts: RunParts): Promise<RunResult> {
  const { options, key, clock, interrupted, hurried } = parts;
  const run = randomBytes(RUN_NAME_BYTES).toString("hex");
  const addresses = await addressesFor(options, key, run, createRandom(options.seed + 1));
  const assembled = assemble(parts, run, addresses);
  const { tally, loop, bulk } = assembled;
  const progress = createProgress(parts.progress, assembled);
  const stop = () => loop?.stop(LIMITS.interruptGraceMs);
  const hurry = () => loop?.stop(0);
  interrupted.addEventListener("abort", stop, { once: true });
  hurried.addEventListener("abort", hurry, { once: true });
  if (interrupted.aborted) stop();
  const cpuBefore = process.cpuUsage();
  const startedAtMs = clock.now();
  const startMs = clock.monotonic();
  // Not a timer of the clock: this one keeps the process alive while connections are idle.
  const ticker = setInterval(() => progress.tick(tally.tick(clock.monotonic() - startMs)), TICK_MS);
  let singlesMs = 0;
  let busy = 0;
  async function singles(): Promise<LoopEnd | null> {
    if (loop === null) return null;
    const ended = await loop.run();
    bulk?.finish();
    singlesMs = clock.monotonic() - startMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    busy = (user + system) / 1_000 / Math.max(1, singlesMs);
    return ended;
  }
  try {
    const [ended, jobs] = await Promise.all([singles(), bulk?.run() ?? []]);
    tally.tick(clock.monotonic() - startMs);
    if (addresses.rounds > 0)
      parts.notes.push(
        `The file of addresses was gone through ${addresses.rounds + 1} times: "new" ones were not new.`,
      );
    return {
      ...{ options, tally, bulk: jobs, bulkLeftOut: bulk?.leftOut ?? 0, startedAtMs, singlesMs, busy },
      ended: interrupted.aborted ? "stopped" : (ended ?? "duration"),
      endedAtMs: clock.now(),
      addresses: addresses.description,
      isLive: isLiveKey(key),
      notes: parts.notes,
    };
  } finally {
    clearInterval(ticker);
    progress.end();
    interrupted.removeEventListener("abort", stop);
    hurried.removeEventListener("abort", hurry);
    assembled.close();
  }
}
