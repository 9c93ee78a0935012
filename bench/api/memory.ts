import { EVIDENCE_BYTES, HEAP_FACTOR } from "../bulk/memory-bound.ts";
import { residentOf } from "../cpu/resident.ts";
import { planInternet } from "../probing/plan-internet.ts";
import type { CachedProcess } from "../processes/cached.ts";
import { InvalidRun } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import { startChild } from "../setup/child.ts";
import { type BenchContext, requireRight, settingsFor, withChildren } from "../setup/context.ts";
import { startRole } from "../setup/role.ts";
import { startMail } from "../sinks/mail.ts";

const ENTRIES = { full: 1_000_000, quick: 100_000 };
const TOLD_OF = 1_000_000;
const STEP = 50_000;
/** Number of its run in the plan; other sections use other runs. */
const RUN = 5_000;
const SETTLE_MS = 2_000;
const MIB = 1_048_576;
/** Share of the time budget for filling; the rest is for starting, ending, and checking that every entry is there. */
const FILL_SHARE = 0.7;

/** Resident bytes of an idle API process. */
async function idleBytes(context: BenchContext, settings: Record<string, string>): Promise<number> {
  const api = await startRole(context, "api", { ...settings, ...context.objectSettings });
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return residentOf(api.pid).now;
  } finally {
    await api.end();
  }
}

interface FilledCache {
  entries: number;
  beforeBytes: number;
  afterBytes: number;
}

/** Fills the cache of a process by checking, until it holds as many as it may, or time is up. */
async function fillCache(context: BenchContext, entriesMax: number): Promise<FilledCache> {
  return withChildren(async (keep) => {
    const world = await startMail(context, keep, planInternet({ worlds: [[RUN]] }));
    const cached = keep(await startChild<CachedProcess>("cached", context));
    const settings = { ...settingsFor(context, world), CACHE_ENTRIES: String(entriesMax) };
    await cached.call("start", settings);
    // Memory that the first checks allocate for good does not belong to entries.
    requireRight("cache", (await cached.call("fill", { run: RUN, from: 0, count: STEP })).wrong);
    const beforeBytes = await cached.call("resident");
    const deadline = performance.now() + FILL_SHARE * context.allowanceMs;
    let filled = STEP;
    while (filled < entriesMax && performance.now() < deadline) {
      const count = Math.min(STEP, entriesMax - filled);
      requireRight("cache", (await cached.call("fill", { run: RUN, from: filled, count })).wrong);
      filled += count;
    }
    const held = await cached.call("held", { run: RUN, count: filled });
    if (held !== filled) throw new InvalidRun(`${held} of ${filled} verdicts are in memory`);
    return { entries: filled - STEP, beforeBytes, afterBytes: await cached.call("resident") };
  });
}

/** Resident memory of an API process: idle, and with a million verdicts in memory. */
export async function benchMemory(context: BenchContext): Promise<Section> {
  const entriesMax = context.quick ? ENTRIES.quick : ENTRIES.full;
  const settings = {
    ...settingsFor(context, { dnsServer: "127.0.0.1:9", smtpPort: 25 }),
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    LOG_LEVEL: "warn",
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
  const idle = await idleBytes(context, settings);
  const { entries, beforeBytes, afterBytes } = await fillCache(context, entriesMax);
  const entryBytes = (afterBytes - beforeBytes) / entries;
  const cached = idle + TOLD_OF * entryBytes;
  const bound = idle + TOLD_OF * EVIDENCE_BYTES * HEAP_FACTOR;
  const mib = (bytes: number) => `${Math.round(bytes / MIB).toLocaleString("en")} MiB`;
  const extrapolated = entries + STEP < TOLD_OF ? `, from ${(entries + STEP).toLocaleString("en")}` : "";
  return {
    title: "Memory of the API",
    configuration: [
      "idle: the API on running services, two seconds after it is ready, defaults otherwise",
      `cached: ${(entries + STEP).toLocaleString("en")} addresses probed and kept (CACHE_ENTRIES=${entriesMax}), after a collection`,
    ],
    unit: "bytes",
    lines: [],
    table: [
      ["", "resident"],
      ["idle", mib(idle)],
      ["each cached verdict", `${Math.round(entryBytes)} bytes`],
      [`1,000,000 cached verdicts${extrapolated}`, mib(cached)],
      ["allowed with CACHE_ENTRIES=1000000", mib(bound)],
    ],
    notes: [],
    targets: [
      { id: "memory.idle", what: "API, resident when idle", unit: "MiB", figure: idle / MIB },
      {
        id: "memory.cached",
        what: `API with 1M cached verdicts${extrapolated}, resident`,
        unit: "MiB",
        figure: cached / MIB,
        atMost: bound / MIB,
      },
      { id: "memory.entry", what: "each cached verdict", unit: "bytes", figure: entryBytes },
    ],
  };
}
