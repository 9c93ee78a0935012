import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createAccuracyReader } from "../../../../src/features/feedback/accuracy.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor } from "../../../support/store.ts";

/** A reading of the accuracy goes over all rows of a team, so few run at once, and each is answered again for a while. */

const { keptMs, readings } = LIMITS.feedback.accuracy;
const [ONE, OTHER] = [actorFor("team_1"), actorFor("team_2")];

/** Statements wait until the test answers them. */
function readerWith() {
  const clock = createFakeClock();
  const waiting: ((rows: unknown[] | Error) => void)[] = [];
  let statements = 0;
  const sql = (() => {
    statements += 1;
    return new Promise((resolve, reject) => {
      waiting.push((rows) => (rows instanceof Error ? reject(rows) : resolve(rows)));
    });
  }) as unknown as Database;
  /** Answers the statements that wait, and those that follow them. */
  async function answer(rows: unknown[] | Error = []): Promise<void> {
    while (waiting.length > 0) {
      for (const settle of waiting.splice(0)) settle(rows);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { clock, reader: createAccuracyReader(sql, clock), answer, statements: () => statements };
}

describe("the accuracy", () => {
  it("is read once for all who ask within a minute, a statement at a time", async () => {
    const { reader, clock, answer, statements } = readerWith();
    const asked = [reader.read(ONE, 30), reader.read(ONE, 30)];
    assert.equal(statements(), 1);
    await answer();
    const [first, second] = await Promise.all(asked);
    assert.equal(first, second);
    clock.advance(keptMs - 1);
    assert.equal(await reader.read(ONE, 30), first);
    assert.equal(statements(), 2);
    clock.advance(1);
    const anew = reader.read(ONE, 30);
    await answer();
    assert.notEqual(await anew, first);
    assert.equal(statements(), 4);
  });

  it("is read once at a time for a team, whatever the days, and by few teams in all", async () => {
    const { reader, answer, statements } = readerWith();
    const reading = [reader.read(ONE, 30), reader.read(OTHER, 30)];
    assert.equal(reading.length, readings);
    await assert.rejects(reader.read(ONE, 31), { code: "rate_limited" });
    await assert.rejects(reader.read(actorFor("team_3"), 30), { code: "overloaded" });
    assert.equal(statements(), readings);
    await answer();
    await Promise.all(reading);
    const next = reader.read(ONE, 31);
    await answer();
    assert.equal((await next).days, 31);
  });

  it("is read again after a failure, and after a report of the team", async () => {
    const { reader, answer, statements } = readerWith();
    const failed = reader.read(ONE, 30);
    const noticed = assert.rejects(failed, /away/);
    await answer(new Error("away"));
    await noticed;
    const [one, other] = [reader.read(ONE, 30), reader.read(OTHER, 30)];
    await answer();
    await Promise.all([one, other]);
    reader.forget("team_1");
    const before = statements();
    const anew = [reader.read(ONE, 30), reader.read(OTHER, 30)];
    assert.equal(statements(), before + 1);
    await answer();
    await Promise.all(anew);
  });
});
