import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createUsage } from "../../../../src/features/usage/usage.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor } from "../../../support/store.ts";

const COUNTS = { single: 3, bulk: 0, cached: 1, valid: 3, invalid: 0, risky: 0, unknown: 0 };
const DAY = "2026-01-01";

function usageWith(flush: () => Promise<void>, ofDay = async () => COUNTS) {
  const clock = createFakeClock();
  const store = { ofDay, history: async () => [{ ...COUNTS, day: DAY, settled: 3 }] };
  const quota = { view: async () => ({ day: DAY, used: 3, held: 0 }) };
  return { clock, usage: createUsage({ store, quota, counter: { flush }, clock }) };
}

describe("what a team has used", () => {
  const late: [string, () => Promise<void>][] = [
    ["takes for ever", () => new Promise(() => undefined)],
    ["fails", () => Promise.reject(new Error("one row cannot be written"))],
  ];
  for (const [what, flush] of late)
    it(`is reported without this process's unwritten counts when their flush ${what}`, async () => {
      const { clock, usage } = usageWith(flush);
      const asked = Promise.all([usage.today(actorFor("team_1")), usage.history(actorFor("team_1"), 1)]);
      await clock.advanceAsync(LIMITS.usage.flushWaitMs);
      const [today, history] = await asked;
      assert.deepEqual([today.used, today.single, history.data[0]?.used], [3, 3, 3]);
      assert.equal(clock.pending, 0);
    });

  it("is not reported when it cannot be read", async () => {
    const { clock, usage } = usageWith(
      async () => undefined,
      () => new Promise(() => undefined),
    );
    const asked = usage.today(actorFor("team_1"));
    const refused = assert.rejects(asked, { code: "unavailable" });
    await clock.advanceAsync(LIMITS.usage.readTimeoutMs);
    await refused;
  });
});
