import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type BulkScenario,
  isShardOf,
  obstruct,
  openBulkScenario,
  retired,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, type ExpectedRow, listOf, mixedList } from "../../support/mixed-list.ts";
import type { ObjectRequest } from "../../support/object-gate.ts";
import { until } from "../../support/until.ts";

/** Workers that are stopped, as by a deploy, while they hold tasks that they cannot finish. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

/** Half of it is waited out, three tenths are there to hand back: more than enough on a loaded machine. */
const GRACE_MS = 20_000;
/** Shorter where a mail server is silent: half of it is to be over well before the replies are given up, after 15 s. */
const SHORTER_GRACE_MS = 16_000;

/** Idle time in milliseconds of each pending entry in the streams. */
async function silences(): Promise<number[]> {
  const { client } = scenario.redis;
  const keys = (await client.keys("rcpt:{bulk}:*")).filter((key) => /:(?:tasks|whole|retry:.*)$/.test(key));
  const idle: number[] = [];
  for (const key of keys.filter((name) => !name.includes(":alive:"))) {
    // Without a reader, retries may have been added since: a stream without a consumer group.
    const groups = await client.xinfo("GROUPS", key);
    if ((groups as unknown[]).length === 0) continue;
    const pending = (await client.xpending(key, "workers", "-", "+", 1_000)) as [string, string, number][];
    idle.push(...pending.map(([, , ms]) => Number(ms)));
  }
  return idle;
}

async function handBack(tag: string, isMeant: (request: ObjectRequest) => boolean): Promise<void> {
  const settings = { DEFERRAL_FIRST_S: "1", SHUTDOWN_GRACE_MS: String(GRACE_MS) };
  const used = await usedOf(scenario);
  const list = mixedList({ tag, rows: 1_300, greylistedEvery: 50 });
  let met = 0;
  const release = obstruct(
    scenario,
    (request) => {
      const isIt = isMeant(request);
      if (isIt) met += 1;
      return isIt;
    },
    "silence",
  );
  try {
    const leaving = await scenario.startWorker(settings);
    const id = await submitList(scenario, list);
    await until("it has something in hand that does not end", () => met > 0, 120_000);
    await retired(leaving);
    await assertHandedBack(id);
    // The next worker need not wait for a lease to end.
    const idle = await silences();
    assert.ok(idle.length > 0);
    for (const ms of idle) assert.ok(ms >= 86_400_000, `somebody still has an entry: ${ms} ms`);
    release();
    const heir = await scenario.startWorker(settings);
    await assertWhole(scenario, id, list, used);
    await streamEmpties(scenario);
    await retired(heir);
  } finally {
    release();
  }
}

/** Unfinished tasks of the job, none of which counts a delivery. */
async function assertHandedBack(id: string): Promise<void> {
  const left = await scenario.deployment.sql<{ deliveries: number }[]>`
    select deliveries from job_tasks where job_id = ${id} and state <> 'done'`;
  assert.ok(left.length > 0);
  assert.deepEqual(new Set(left.map(({ deliveries }) => deliveries)), new Set([0]));
}

/** Sites of one connection each, their rows one site after the other: nearly all have to wait. */
const SITES = 3;
const DEPTH = 10;
const ROWS_PER_SITE = 120;
const ADDRESSES = SITES * ROWS_PER_SITE;
/** All that a chunk asks about, strangers too, and as much again of those that had to wait. */
const ASKED_OF_SITE = 60;

function rowOf(input: string, verdict: ExpectedRow["verdict"]): ExpectedRow {
  return { input, duplicateOf: null, verdict, columns: ["", "", input, ""] };
}

function sortedList(tag: string) {
  const rows: ExpectedRow[] = [];
  for (let site = 0; site < SITES; site++)
    for (let i = 0; i < ROWS_PER_SITE; i++)
      rows.push(rowOf(`exists-${tag}${i}@customers.sorted${site}.test`, "valid"));
  return listOf(rows);
}

/** The mail server falls silent in the middle of the rows that had to wait. */
async function handBackHalf(tag: string): Promise<void> {
  const { world } = scenario.deployment;
  const host = world.host("mx.plain.test");
  for (let site = 0; site < SITES; site++) {
    world.dns.set(`mx.sorted${site}.test`, { a: [host.address] });
    world.dns.set(`customers.sorted${site}.test`, { mx: [[10, `mx.sorted${site}.test`]] });
  }
  const asked = new Map<string, number>();
  let recipients = 0;
  host.setBehaviour("rcpt", (_dialogue, { local, domain }) => {
    if (local.startsWith(`exists-${tag}`)) {
      const address = `${local}@${domain}`;
      asked.set(address, (asked.get(address) ?? 0) + 1);
    }
    if (++recipients === SITES * ASKED_OF_SITE) host.hold("rcpt");
    return null;
  });
  try {
    const settings = {
      SHAPING: JSON.stringify({ default: { maxConnections: 1 } }),
      SHUTDOWN_GRACE_MS: String(SHORTER_GRACE_MS),
    };
    const used = await usedOf(scenario);
    const list = sortedList(tag);
    const leaving = await scenario.startWorker(settings);
    const id = await submitList(scenario, list);
    await until("its rows stand still", () => host.account.held > 0, 120_000);
    await retired(leaving);
    await assertHandedBack(id);
    assert.ok(asked.size < ADDRESSES);
    host.release();
    const heir = await scenario.startWorker(settings);
    await assertWhole(scenario, id, list, used);
    await retired(heir);
    assert.equal(asked.size, ADDRESSES);
    const twice = [...asked.values()].filter((times) => times > 1).length;
    assert.ok(twice <= SITES * DEPTH, `${twice} rows were asked about again, that had been answered`);
  } finally {
    host.setBehaviour("rcpt", null);
    host.release();
  }
}

describe("a worker that is told to stop hands back, and ends with code 0", () => {
  it("an analysis", () => handBack("analysis", ({ path }) => path.includes("/repeats")));

  it("a chunk", () => handBack("chunk", isShardOf(1)));

  it("a retry", () => {
    const isChunk = [isShardOf(0), isShardOf(1)];
    return handBack(
      "retry",
      (request) =>
        request.path.includes("/shards/") && request.method === "PUT" && !isChunk.some((is) => is(request)),
    );
  });

  it("retries of which a part is answered: the rest comes, and nothing twice", () => handBackHalf("sorted"));

  it("an assembly", () => handBack("assembly", ({ path }) => path.includes("/results-")));
});
