import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { ended, ledgerState, resultLines } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { type BulkScenario, killed, openBulkScenario, retired } from "../../support/bulk-scenario.ts";
import type { MainProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

/** An API that is killed while lists are submitted. The scenario's own API keeps running, to inspect the state. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

async function startApi(): Promise<{ process: MainProcess; url: string }> {
  const { deployment, redis, processes } = scenario;
  const api = processes.start({
    ...deployment.settings,
    REDIS_URL: redis.url,
    ROLE: "api",
    CHECK_THREADS: "1",
  });
  return { process: api, url: await api.ready };
}

describe("an API that is killed", () => {
  it("while a file is sent: the file is not there, and can be sent again", async () => {
    const { api, team, deployment } = scenario;
    const doomed = await startApi();
    const sending = request(`${doomed.url}/v1/uploads/list.csv`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${team.liveKey}`, "Content-Type": "text/csv" },
    });
    const broken = once(sending, "error");
    sending.write("email\nexists-half@plain.test\n");
    const [upload] = await until("it is being taken", async () => {
      const rows = await deployment.sql<{ id: string; status: string }[]>`
        select id, status from uploads where team_id = ${team.id}`;
      return rows.length === 1 && rows;
    });
    await killed(doomed.process);
    await broken;
    const refused = await submitAs(api, team.liveKey, { upload_id: upload?.id });
    assert.deepEqual([upload?.status, refused.status, refused.body.code], ["open", 409, "upload_missing"]);
    const again = await uploaded(api, team.liveKey, "email\nexists-whole@plain.test\n");
    const { status, body } = await submitAs(api, team.liveKey, { upload_id: again });
    assert.equal(status, 202);
    const worker = await scenario.startWorker();
    const done = await ended(api, team.liveKey, body.id);
    assert.deepEqual([done.status, done.rows.total, done.verdicts.valid], ["completed", 1, 1]);
    assert.deepEqual(await ledgerState(deployment, team.id), { used: 1, held: 0, leased: 0 });
    await retired(worker);
  });

  it("with submissions under way: what it took is done, the rest is there once or not at all", async (t) => {
    const { api, team, deployment } = scenario;
    const { used } = await ledgerState(deployment, team.id);
    const doomed = await startApi();
    const COUNT = 40;
    const lists = Array.from({ length: COUNT }, (_, n) => [
      `exists-k${n}@plain.test`,
      `missing-k${n}@plain.test`,
      "no address",
      `exists-k${n}@plain.test`,
    ]);
    const headersOf = (n: number) => ({
      Authorization: `Bearer ${team.liveKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `kill-${n}`,
    });
    const bodyOf = (n: number) => JSON.stringify({ emails: lists[n], metadata: { n: String(n) } });
    let answered = 0;
    const send = async (url: string, n: number) => {
      const response = await fetch(`${url}/v1/verify/bulk`, {
        method: "POST",
        headers: headersOf(n),
        body: bodyOf(n),
      });
      const body = (await response.json()) as { id: string };
      answered += 1;
      return { status: response.status, id: body.id };
    };
    const sent = lists.map((_, n) => send(doomed.url, n).catch(() => null));
    await until("some are answered", () => answered >= COUNT / 4, 120_000);
    await killed(doomed.process);
    const answers = await Promise.all(sent);
    const taken = answers.flatMap((answer, n) => (answer === null ? [] : [{ ...answer, n }]));
    t.diagnostic(`${taken.length} of ${COUNT} were answered`);
    // Every process repeats an answer that was given. If there was no time to store it, the request is refused.
    for (const { status, id, n } of taken) {
      assert.equal(status, 202);
      const replay = await send(api.url, n);
      if (replay.status !== 409) assert.deepEqual(replay, { status: 202, id });
    }
    // A half-made submission is given up once it is old.
    await deployment.sql`update jobs set created_at = now() - interval '1 hour' where status = 'submitting'`;
    const worker = await scenario.startWorker();
    const jobs = await until(
      "all that is there is done",
      async () => {
        const rows = await deployment.sql<{ id: string; n: string; status: string }[]>`
          select id, metadata->>'n' as n, status from jobs where removed_at is null and metadata ? 'n'`;
        return rows.every(({ status }) => status === "completed") && rows;
      },
      240_000,
    );
    const byList = new Map(jobs.map(({ n, id }) => [Number(n), id]));
    assert.equal(byList.size, jobs.length, "a list was taken twice");
    for (const { n, id } of taken) assert.equal(byList.get(n), id);
    for (const [n, id] of byList) {
      const lines = await resultLines(api, team.liveKey, id);
      assert.deepEqual(
        lines.map(({ input, verdict, duplicate_of }) => [input, verdict, duplicate_of]),
        lists[n]?.map((input, i) => [input, i === 1 || i === 2 ? "invalid" : "valid", i === 3 ? 1 : null]),
      );
    }
    assert.deepEqual(await ledgerState(deployment, team.id), {
      used: used + 2 * jobs.length,
      held: 0,
      leased: 0,
    });
    await retired(worker);
  });
});
