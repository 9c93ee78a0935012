import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createControl, Interruption } from "../../../src/bulk/control.ts";
import type { RowWaitPolicy } from "../../../src/bulk/row-verifier.ts";
import { createStays } from "../../../src/bulk/stays.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import {
  ANSWERED,
  emailsOf,
  createRowFixture as fixture,
  retryAt,
  SMALL_ROOM,
  turn,
} from "../../support/row-batches.ts";

/** The rows of chunks that stay, beside retries. */
const { siteRowsAtOnce, retryRowsAtOnce, staySites, staysAtOnce, staysPerJob } = LIMITS.bulk;
const { stayMs, stayQuietMs } = LIMITS.bulk;
const lookMs = LIMITS.bulk.watchEveryMs.retry;
const ROWS = 3 * SMALL_ROOM;

/** A verifier, and chunks that stay. */
function staying() {
  const given = fixture();
  const stays = createStays(given.clock, 86_400_000);
  /** Begins a stay of so many sites. */
  function begin(name: string, sites = 1, jobId = "job") {
    const names = Array.from({ length: sites }, (_, i) => `small.${name}.${i}`);
    const stay = stays.begin(jobId, names, 1_000);
    assert.ok(stay !== null);
    const manners = names.map((site): RowWaitPolicy => ({ kind: "retry", site, stay }));
    return { stay, manners, ask: () => Promise.all(manners.map((how) => given.verify(emailsOf(ROWS), how))) };
  }
  return { ...given, stays, begin };
}

describe("the rows of a chunk that stays", () => {
  it("are put off at once where there are no places, and are not asked about later", async () => {
    const { verify, clock, started, begin } = staying();
    // Of a retry that waits for places too: it is not passed over.
    const retries = ["x", "y", "z"].map((site) => verify(emailsOf(siteRowsAtOnce), retryAt(site)));
    await turn();
    const [answers] = await begin("a").ask();
    assert.equal(answers?.length, ROWS);
    assert.ok(answers?.every(({ wait }) => wait?.reason === "busy" && wait.site === "small.a.0"));
    const { length } = started;
    for (const batch of started) batch.answer(...batch.emails.map(() => ANSWERED));
    await turn();
    assert.deepEqual([length, started.length], [2, 3]);
    started[2]?.answer(...emailsOf(siteRowsAtOnce).map(() => ANSWERED));
    await Promise.all(retries);
    await clock.advanceAsync(stayMs);
    assert.equal(started.length, 3);
  });

  it("leave half of the places to retries", async () => {
    const { verify, started, begin } = staying();
    for (let i = 0; i < staysAtOnce; i++)
      void begin(`${i}`, staySites, `job${Math.floor(i / staysPerJob)}`).ask();
    await turn();
    const { length } = started;
    assert.ok(length > 0 && length * SMALL_ROOM <= retryRowsAtOnce / 2, `${length} sites at once`);
    void verify(emailsOf(retryRowsAtOnce / 2), retryAt("other"));
    await turn();
    assert.equal(started.length, length + 1);
  });

  it("give their places back", async () => {
    const { started, begin } = staying();
    for (let i = 0; i < 20; i++) {
      const stay = begin(`${i}`, staySites);
      const asked = stay.ask();
      await turn();
      const batches = started.splice(0);
      assert.equal(batches.length, staySites);
      for (const batch of batches) batch.answer(...batch.emails.map(() => ANSWERED));
      await asked;
      stay.stay.end();
    }
  });

  it("are left soon where nothing is answered, else when the time is over", async () => {
    for (const isHeard of [false, true]) {
      const { clock, started, begin } = staying();
      const begunMs = clock.monotonic();
      let leftMs = 0;
      const asked = begin("a", 2)
        .ask()
        .then(() => {
          leftMs = clock.monotonic() - begunMs;
        });
      await turn();
      await clock.advanceAsync(lookMs);
      // At one of the sites, whose batch may be over before anybody looks.
      if (isHeard) started[0]?.answer(...emailsOf(ROWS).map(() => ANSWERED));
      while (leftMs === 0) await clock.advanceAsync(lookMs);
      await asked;
      const untilMs = isHeard ? stayMs : stayQuietMs;
      assert.ok(leftMs >= untilMs && leftMs <= untilMs + 2 * lookMs, `${leftMs} ms`);
    }
  });

  it("are not asked about any more once its time is over, its worker drains, or it was cancelled", async () => {
    const { verify, clock, started, stays, begin } = staying();
    const late = begin("late");
    await clock.advanceAsync(stayQuietMs);
    assert.ok((await late.ask())[0]?.every(({ wait }) => wait?.reason === "busy"));
    const cancelled = createControl();
    cancelled.cancel();
    const [manner] = begin("cancelled").manners;
    await assert.rejects(verify(emailsOf(ROWS), manner, cancelled), Interruption);
    const closed = begin("closed");
    stays.close();
    assert.ok((await closed.ask())[0]?.every(({ wait }) => wait?.reason === "busy"));
    assert.equal(started.length, 0);
  });
});
