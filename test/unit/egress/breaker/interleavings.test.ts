import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { ProbeEnd } from "../../../../src/egress/breaker/messages.ts";
import type { ProbeGuard } from "../../../../src/egress/breaker/mirror.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createLocalBreakers, createLocalMirror } from "../../../support/local-breakers.ts";
import { createMemoryBreakers } from "../../../support/memory-breaker-store.ts";
import fc from "../../../support/properties.ts";

/** In whatever order events come: one trial at a time, and a server that recovers is asked again. */
const { maxMs, jitter, trialMs, trialTtlMs } = LIMITS.breaker;
const PROCESSES = 3;
const THREADS = 2;
const PATH = "direct";

interface Probe {
  visit: ProbeGuard;
  startedMs: number;
  process: number;
  thread: number;
}

const isTrial = ({ visit }: Probe) => visit.trialUntil < Number.POSITIVE_INFINITY;

/** Everything that waits only for promises: all of it is in memory. */
async function flush(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** An egress of some processes with some threads each, and a server that blocks or does not. */
function egress() {
  const clock = createFakeClock();
  const shared = createMemoryBreakers(clock);
  const startProcess = () => {
    const store = shared.process();
    const { authority } = createLocalBreakers(clock, store);
    const threads = Array.from({ length: THREADS }, () => createLocalMirror(authority, clock));
    return { store, authority, threads };
  };
  const processes = Array.from({ length: PROCESSES }, startProcess);
  let probes: Probe[] = [];
  let isBlocking = true;

  const processAt = (index: number) => processes[index] as (typeof processes)[0];
  const threadAt = (process: number, thread: number) =>
    processAt(process).threads[thread] as ReturnType<typeof createLocalMirror>;
  const lose = (isLost: (probe: Probe) => boolean) => {
    probes = probes.filter((probe) => !isLost(probe));
  };

  /** The engine sees to it that no trial takes longer. */
  function endLate(): void {
    for (const probe of probes)
      if (clock.monotonic() - probe.startedMs >= trialMs) probe.visit.end({ kind: "inconclusive" });
    lose(({ startedMs }) => clock.monotonic() - startedMs >= trialMs);
  }

  return {
    async begin(process: number, thread: number): Promise<boolean> {
      const target = { site: "site.test", provider: null, domain: "site.test" };
      const visit = threadAt(process, thread).breaker.guard(target);
      const may = visit.mayProbe(PATH);
      let went = may === true;
      if (typeof may !== "boolean") void may.then((granted) => (went = granted));
      await flush();
      if (went) probes.push({ visit, startedMs: clock.monotonic(), process, thread });
      return went;
    },
    async end(at: number, kind: "answered" | "inconclusive" | "ours"): Promise<void> {
      const [probe] = probes.splice(at % Math.max(1, probes.length), 1);
      const blocked: ProbeEnd = { kind: "blocked", path: PATH, early: true, rule: "r", reply: "554 no" };
      const answer: ProbeEnd = isBlocking ? blocked : { kind: "passed", path: PATH };
      probe?.visit.end(kind === "answered" ? answer : { kind });
      await flush();
    },
    async pass(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 10_000) {
        clock.advance(Math.min(left, 10_000));
        endLate();
        await flush();
      }
    },
    async killThread(process: number, thread: number): Promise<void> {
      lose((probe) => probe.process === process && probe.thread === thread);
      threadAt(process, thread).die();
      processAt(process).threads[thread] = createLocalMirror(processAt(process).authority, clock);
      await flush();
    },
    /** By SIGKILL: it gives nothing back. */
    killProcess(process: number): void {
      lose((probe) => probe.process === process);
      shared.kill(processAt(process).store);
      processes[process] = startProcess();
    },
    setBlocking(value: boolean): void {
      isBlocking = value;
    },
    trials: () => probes.filter(isTrial).length,
    underWay: () => probes.length,
    isOpen: () => processes.some(({ authority }) => authority.waitMs("site.test") !== null),
  };
}

type Egress = ReturnType<typeof egress>;

const processIndex = fc.nat(PROCESSES - 1);
const threadIndex = fc.nat(THREADS - 1);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(processIndex, threadIndex)
      .map(([p, t]) => ({ name: `begin ${p} ${t}`, run: async (e: Egress) => void (await e.begin(p, t)) })),
  },
  {
    weight: 8,
    arbitrary: fc.nat(20).map((at) => ({ name: `end ${at}`, run: (e: Egress) => e.end(at, "answered") })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(20), fc.constantFrom("inconclusive" as const, "ours" as const))
      .map(([at, kind]) => ({ name: `${kind} ${at}`, run: (e: Egress) => e.end(at, kind) })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(1_000, 30_000, 60_000, 120_000, maxMs)
      .map((ms) => ({ name: `pass ${ms}`, run: (e: Egress) => e.pass(ms) })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(processIndex, threadIndex)
      .map(([p, t]) => ({ name: `kill thread ${p} ${t}`, run: (e: Egress) => e.killThread(p, t) })),
  },
  {
    weight: 1,
    arbitrary: processIndex.map((p) => ({
      name: `kill process ${p}`,
      run: async (e: Egress) => e.killProcess(p),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map((blocks) => ({
      name: blocks ? "block" : "relent",
      run: async (e: Egress) => e.setBlocking(blocks),
    })),
  },
);

describe("breakers of an egress, whatever happens", () => {
  it("send one trial at a time, and ask a server again that relents", async () => {
    let opened = 0;
    let trials = 0;
    const steps = fc.array(step, { minLength: 20, maxLength: 120, size: "max" });
    await fc.assert(
      fc.asyncProperty(steps, async (commands) => {
        const e = egress();
        // As by a server that blocks at once.
        for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) {
          await e.begin(0, 0);
          await e.end(0, "answered");
        }
        for (const { run } of commands) {
          await run(e);
          assert.ok(e.trials() <= 1, `${e.trials()} trials at once`);
          opened += Number(e.isOpen());
          trials += e.trials();
        }
        e.setBlocking(false);
        while (e.underWay() > 0) await e.end(0, "answered");
        const patienceMs = maxMs * (1 + jitter) + trialTtlMs;
        for (let waitedMs = 0; e.isOpen() && waitedMs <= patienceMs; waitedMs += 30_000) {
          await e.begin(1, 1);
          assert.ok(e.trials() <= 1, `${e.trials()} trials at once`);
          while (e.underWay() > 0) await e.end(0, "answered");
          await e.pass(30_000);
        }
        // A process that was not there when it opened, or closed, may know less: it goes.
        assert.equal(await e.begin(1, 1), true, "a server that has relented is asked");
      }),
      { numRuns: 150 },
    );
    assert.ok(opened > 1_000 && trials > 100, `too little happened to show anything: ${opened} ${trials}`);
  });
});
