import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createAccuracyReader } from "../../../../src/features/feedback/accuracy.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor } from "../../../support/store.ts";

/** A reading of the accuracy goes over all rows of a team, so one runs at a time, and each is answered again for a while. */

const { keptMs, waiting, waitingPerTeam } = LIMITS.feedback.accuracy;
const [ONE, OTHER] = [actorFor("team_1"), actorFor("team_2")];

/** What waits for promises alone has been done. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Statements wait until the test answers them. */
function readerWith() {
  const clock = createFakeClock();
  const asked: ((rows: unknown[] | Error) => void)[] = [];
  let statements = 0;
  const sql = (() => {
    statements += 1;
    return new Promise((resolve, reject) => {
      asked.push((rows) => (rows instanceof Error ? reject(rows) : resolve(rows)));
    });
  }) as unknown as Database;
  /** Answers the statements that wait, and those that follow them. */
  async function answer(rows: unknown[] | Error = []): Promise<void> {
    await settled();
    while (asked.length > 0) {
      for (const settle of asked.splice(0)) settle(rows);
      await settled();
    }
  }
  return { clock, reader: createAccuracyReader(sql, clock), answer, statements: () => statements };
}

describe("the accuracy", () => {
  it("is read once for all who ask within a minute, a statement at a time", async () => {
    const { reader, clock, answer, statements } = readerWith();
    const asked = [reader.read(ONE, 30), reader.read(ONE, 30)];
    await settled();
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

  it("is read for one team after the other, next the one served longest ago, and no team is refused for others", async () => {
    const { reader, answer, statements } = readerWith();
    const done: string[] = [];
    const read = (actor: Actor, days: number) =>
      reader.read(actor, days).then(() => done.push(`${actor.teamId} ${days}`));
    const all = [read(ONE, 30), read(ONE, 31), read(ONE, 32), read(OTHER, 30), read(actorFor("team_3"), 30)];
    await settled();
    assert.equal(statements(), 1);
    await answer();
    await Promise.all(all);
    assert.deepEqual(done, ["team_1 30", "team_2 30", "team_3 30", "team_1 31", "team_1 32"]);
  });

  it("waits behind an older reading of the team", async () => {
    const { reader, answer } = readerWith();
    const older = reader.read(ONE, 30);
    await settled();
    reader.forget("team_1");
    const newer = reader.read(ONE, 30);
    await answer();
    assert.notEqual(await newer, await older);
  });

  it("has a bound of readings that wait, of a team and in all, and one refused costs no team its last", async () => {
    const { reader, answer, statements } = readerWith();
    const kept = reader.read(OTHER, 30);
    await answer();
    await kept;
    const before = statements();
    const reading = Array.from({ length: waitingPerTeam }, (_, i) => reader.read(ONE, 1 + i));
    for (let days = 10; days < 10 + 90; days++)
      await assert.rejects(reader.read(ONE, days), { code: "rate_limited" });
    for (let i = waitingPerTeam; i < waiting; i++) reading.push(reader.read(actorFor(`team_${i + 3}`), 30));
    await assert.rejects(reader.read(actorFor("team_x"), 30), { code: "overloaded" });
    assert.equal(await reader.read(OTHER, 30), await kept);
    await answer();
    await Promise.all(reading);
    assert.equal(statements(), before + 2 * waiting);
  });

  it("of one team takes the place of no other's, however many days it asks for", async () => {
    const { reader, answer, statements } = readerWith();
    const kept = reader.read(OTHER, 30);
    await answer();
    for (let round = 0; round < 2; round++)
      for (let days = 1; days <= LIMITS.feedback.keptDays; days++) {
        const asked = reader.read(ONE, days);
        await answer();
        assert.equal((await asked).days, days);
      }
    const before = statements();
    assert.equal(await reader.read(OTHER, 30), await kept);
    assert.equal(statements(), before);
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
    await answer();
    await Promise.all(anew);
    assert.equal(statements(), before + 2);
  });
});
