import { after, before, describe, it } from "node:test";
import {
  type BulkScenario,
  killed,
  openBulkScenario,
  retired,
  streamEmpties,
  submitList,
  TASKS,
  usedOf,
  WHOLE,
} from "../../support/bulk-scenario.ts";
import { assertWhole, mixedList } from "../../support/mixed-list.ts";
import { until } from "../../support/until.ts";

/** Workers that are killed again and again in one job. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

const KILLS = 10;
const ROWS = 5_000;

/** Numbers from 0 up to 1 that look random, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** From now on tasks of a killed worker count as abandoned, as if its lease had run out. */
async function endLeases(): Promise<void> {
  const { client } = scenario.redis;
  for (const key of [TASKS, WHOLE]) {
    if ((await client.exists(key)) === 0) continue;
    const pending = (await client.xpending(key, "workers", "-", "+", 1_000)) as [string, string][];
    for (const [id, consumer] of pending)
      await client.xclaim(key, "workers", consumer, 0, id, "IDLE", 86_400_000, "JUSTID");
  }
}

async function isOver(id: string): Promise<boolean> {
  const { sql } = scenario.deployment;
  return (await sql`select from jobs where id = ${id} and completed_at is not null`).length > 0;
}

describe("ten workers of a job, one after the other", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  it(`are killed at random moments (seed ${seed}): every row is answered, in order, and charged once`, async () => {
    const random = randomFrom(seed);
    const { world } = scenario.deployment;
    const used = await usedOf(scenario);
    const list = mixedList({ tag: "kills", rows: ROWS });
    const host = world.host("mx.plain.test");
    const asked = () => host.account.accepted + host.account.rejected;
    const id = await submitList(scenario, list);
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = await scenario.startWorker();
      // Each worker makes some progress: it is killed after this many recipients have been asked.
      const target = asked() + 1 + Math.floor((random() * list.charge) / KILLS);
      await until(`${target} recipients are asked after`, () => asked() >= target || isOver(id), 240_000);
      await killed(worker);
      // The first time its lease has to run out.
      if (kill > 0) await endLeases();
    }
    const heir = await scenario.startWorker();
    await assertWhole(scenario, id, list, used);
    await streamEmpties(scenario);
    await retired(heir);
  });
});
