import assert from "node:assert/strict";
import { it } from "node:test";
import type { CheckListener } from "../../../../../src/engine/threads/pool.ts";
import type { WaitTimes } from "../../../../../src/features/verify/answer/answer-note.ts";
import { createInFlightChecks } from "../../../../../src/features/verify/checks/in-flight-checks.ts";
import { createLog } from "../../../../../src/platform/log.ts";
import type { Span } from "../../../../../src/platform/telemetry/tracing.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import { evidenceWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { RecordedSpan } from "../../../../support/recorded-span.ts";

const THREAD = { slot: 1, totalMs: 19_000, plannedMs: 500, attempts: [] };

/** Flights over a cache that has nothing, and checks that end when the test says so. */
function setUp() {
  const clock = createFakeClock();
  const asked: CheckListener[] = [];
  const admission = { enter: () => ({ leave() {} }), hasRoom: () => true, turnsAway: () => false };
  const checks = createInFlightChecks({
    ...{ clock, admission, log: createLog("silent"), deadlineMs: 60_000, onSettled() {} },
    keep: () => ({ ttlS: 60, shared: false }),
    cache: { look: (asker) => asker.found(undefined, "key"), store() {} },
    pool: {
      submit(_address, _scope, asker) {
        asked.push(asker);
        return { cancel() {} };
      },
      check: () => ({ evidence: Promise.resolve(null), cancel() {} }),
    },
  });
  function join(teamId: string, span: Span | null = null): Promise<WaitTimes | undefined> {
    const parsed = parseAddress("a@example.com");
    assert.ok(parsed.ok);
    const question = { teamId, address: parsed.address, scope: "probed" as const, refresh: false };
    const waiter = { startedMs: clock.monotonic(), cancelled: () => false, onCancel() {}, span };
    return checks.join(question, waiter, { settled: ({ times }) => times, failed() {} });
  }
  function finish(): void {
    const [asker] = asked;
    asker?.onTimes?.(THREAD);
    asker?.onEvidence(
      evidenceWith({ mx: { status: "no_mx", hosts: [], provider: null, ttlS: 60, fault: "recipient" } }),
    );
  }
  return { clock, join, finish };
}

it("a request that joins a check gets its own waiting time, and nothing of another's", async () => {
  const { clock, join, finish } = setUp();
  clock.advance(1_000);
  const first = join("team_1", new RecordedSpan("GET"));
  clock.advance(20_000);
  const span = new RecordedSpan("GET");
  const joined = [join("team_2"), join("team_3", span)];
  clock.advance(5);
  finish();
  assert.deepEqual(await first, { cacheMs: 0, checkMs: 20_005, thread: THREAD });
  for (const times of await Promise.all(joined))
    assert.deepEqual(times, { cacheMs: null, checkMs: null, thread: null, waitMs: 5 });
  assert.deepEqual(
    span.events.map(({ name }) => name),
    ["joined a check under way"],
  );
});
