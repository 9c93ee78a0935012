import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createControl, Interruption } from "../../../../../src/features/bulk/run/control.ts";
import {
  ANSWERED,
  emailsOf,
  createRowFixture as fixture,
  retryAt,
  SMALL_ROOM,
  turn,
} from "../../../../support/row-batches.ts";

const { retryRowsAtOnce, rowDeadlineMs } = LIMITS.bulk;
const watchEveryMs = LIMITS.bulk.watchEveryMs.retry;

describe("rows of a list that is sorted by domain", () => {
  /** Rows of one site in a large chunk. */
  const ROWS = 400;
  const SITES = Math.floor(retryRowsAtOnce / SMALL_ROOM);
  const emailsAt = (site: string) => Array.from({ length: ROWS }, (_, i) => `a${i}@${site}`);

  it("keep many sites busy at once, each with as many rows as it has room for", async () => {
    const { verify, started, clock } = fixture();
    const all = Array.from({ length: SITES + 1 }, (_, i) =>
      verify(emailsAt(`small${i}.example`), retryAt(`small${i}.example`)),
    );
    await turn();
    assert.ok(SITES > retryRowsAtOnce / ROWS, "with a place for each row there would be fewer");
    assert.equal(started.length, SITES);
    for (const { options, emails } of started)
      assert.deepEqual([options.waitsForSite, options.atOnce, emails.length], [true, SMALL_ROOM, ROWS]);
    // Its last rows leave places, until there are enough for the next site.
    const wanted = SMALL_ROOM - (retryRowsAtOnce % SMALL_ROOM);
    started[0]?.answer(...Array.from({ length: ROWS - SMALL_ROOM + wanted - 1 }, () => ANSWERED));
    await clock.advanceAsync(watchEveryMs);
    assert.equal(started.length, SITES);
    started[0]?.answer(ANSWERED);
    await clock.advanceAsync(watchEveryMs);
    assert.equal(started.length, SITES + 1);
    for (let i = 0; i < 2; i++) await clock.advanceAsync(rowDeadlineMs);
    await Promise.all(all);
  });

  it("have one time for all that comes after one another; whose turn never came waits for the same site", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(emailsAt("small.example"), retryAt("small.example"));
    await turn();
    const found = Array.from({ length: 3 * SMALL_ROOM }, () => ANSWERED);
    started[0]?.answer(...found, { deferred: { site: "", cause: "unfinished" } });
    await clock.advanceAsync(rowDeadlineMs - watchEveryMs);
    assert.equal(started[0]?.handedIn, false);
    await clock.advanceAsync(2 * watchEveryMs);
    assert.equal(started[0]?.handedIn, true);
    const answers = await verified;
    assert.equal(answers.filter(({ verified: one }) => one !== undefined).length, found.length);
    const waits = answers.flatMap(({ wait }) => wait ?? []);
    assert.deepEqual([waits.length, waits[0]?.site], [ROWS - found.length, "small.example"]);
    assert.equal(started.length, 1);
  });

  it("get no answer when their task is cancelled, and give their slots back", async () => {
    const { verify, started, clock } = fixture();
    const control = createControl();
    const verified = verify(emailsAt("small.example"), retryAt("small.example"), control);
    const next = verify(emailsOf(retryRowsAtOnce), retryAt(""));
    await turn();
    assert.equal(started.length, 1);
    started[0]?.answer(...Array.from({ length: SMALL_ROOM }, () => ANSWERED));
    control.cancel();
    await assert.rejects(verified, Interruption);
    await turn();
    assert.equal(started.length, 2);
    await clock.advanceAsync(2 * rowDeadlineMs);
    await next;
  });

  it("of several sites in one retry have a place each, as ever", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(emailsOf(ROWS), retryAt(""));
    await turn();
    assert.equal(started[0]?.options.atOnce, ROWS);
    await clock.advanceAsync(2 * rowDeadlineMs);
    await verified;
  });
});
