import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import type { Verdict } from "../../../src/verification/verdict/table.ts";
import { ended, jobOf, type ResultLine, resultLines, resultsText, submitted } from "../../support/bulk.ts";
import { followJob } from "../../support/job-events.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Results while a job waits, after it was cancelled and when it is whole; and its events. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  // Greylisted rows wait for longer than any test.
  const deferral = { DEFERRAL_FIRST_S: "3600", DEFERRAL_MAX_S: "7200" };
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk(deferral)]);
  team = await deployment.team("enterprise");
});
after(closing.close);

const VERDICTS: readonly Verdict[] = ["valid", "invalid", "risky", "unknown"];

/** Rows 2 and 5 wait; row 5 copies row 2. */
const WAITING = [
  "exists-r1@plain.test",
  "exists@greylist.test",
  "missing-r1@plain.test",
  "exists-r1@PLAIN.test",
  "exists@GREYLIST.test",
  "no address",
];
const ANSWERED = [1, 3, 4, 6];

async function waiting(): Promise<BulkJob> {
  const { id } = await submitted(api, team.liveKey, WAITING);
  return until(
    "only what is greylisted is left",
    async () => {
      const job = await jobOf(api, team.liveKey, id);
      return job.status === "deferred" && job.rows.processed === ANSWERED.length && job;
    },
    90_000,
  );
}

/** The rows of a CSV, each with its header's names. */
function csvRows(text: string): Record<string, string>[] {
  return parse(text, { columns: true }) as Record<string, string>[];
}

function assertAlike(csv: Record<string, string>[], lines: readonly ResultLine[]): void {
  assert.deepEqual(
    csv.map((row) => [row.email, row.rcpt_verdict, row.rcpt_reason, row.rcpt_risk_score, row.rcpt_email]),
    lines.map((line) => [line.input, line.verdict, line.reason, String(line.risk_score), line.email]),
  );
}

async function assertCounted(job: BulkJob): Promise<void> {
  const lines = await resultLines(api, team.liveKey, job.id);
  assert.equal(lines.length, job.rows.processed);
  for (const verdict of VERDICTS) {
    const only = await resultLines(api, team.liveKey, job.id, `&verdict=${verdict}`);
    assert.deepEqual(
      only,
      lines.filter((line) => line.verdict === verdict),
    );
    assert.equal(only.length, job.verdicts[verdict]);
    assertAlike(csvRows(await resultsText(api, team.liveKey, job.id, `?verdict=${verdict}`)), only);
  }
}

/** Asserts that results can be filtered by their values and limited to the first ones. */
async function assertChosen(job: BulkJob): Promise<void> {
  const lines = await resultLines(api, team.liveKey, job.id);
  const assertOnly = async (query: string, wanted: readonly ResultLine[]) => {
    assert.deepEqual(await resultLines(api, team.liveKey, job.id, query), wanted, query);
    assertAlike(csvRows(await resultsText(api, team.liveKey, job.id, `?${query.slice(1)}`)), wanted);
  };
  for (const { verdict, reason } of lines) {
    const alike = lines.filter((line) => line.reason === reason);
    await assertOnly(`&reason=${reason}`, alike);
    await assertOnly(`&reason=${reason}&verdict=${verdict}&limit=1`, alike.slice(0, 1));
  }
  await assertOnly("&reason=mailbox_not_found&verdict=valid", []);
  await assertOnly("&provider=google", []);
  await assertOnly("&provider=", lines);
  for (const limit of [1, 2, 10_000]) await assertOnly(`&limit=${limit}`, lines.slice(0, limit));
}

describe("results of a job that is not done", () => {
  it("are the rows that are answered, as many as the job counts, in both formats and by verdict", async () => {
    const job = await waiting();
    const lines = await resultLines(api, team.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ row }) => row),
      ANSWERED,
    );
    assert.deepEqual(
      lines.map(({ duplicate_of }) => duplicate_of),
      [null, null, 1, null],
    );
    assertAlike(csvRows(await resultsText(api, team.liveKey, job.id)), lines);
    await assertCounted(job);
    await assertChosen(job);
    await api.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key: team.liveKey });
    const cancelled = await jobOf(api, team.liveKey, job.id);
    assert.equal(cancelled.status, "cancelled");
    assert.deepEqual(await resultLines(api, team.liveKey, job.id), lines);
    await assertCounted(cancelled);
  });
});

describe("results of a completed job", () => {
  const emails = Array.from({ length: 40 }, (_, i) => {
    const local = i % 3 === 0 ? `exists-w${i % 5}` : `missing-w${i}`;
    return i % 7 === 0 ? `="cmd", ${i}` : `${local}@plain.test`;
  });
  let job: BulkJob;

  before(async () => {
    const { id } = await submitted(api, team.liveKey, emails);
    job = await ended(api, team.liveKey, id);
    assert.equal(job.status, "completed");
  });

  function download(query: string, headers: Record<string, string> = {}): Promise<globalThis.Response> {
    return fetch(`${api.url}/v1/bulk-jobs/${job.id}/results${query}`, {
      headers: { Authorization: `Bearer ${team.liveKey}`, ...headers },
    });
  }

  it("are all rows, in order, the same in both formats, and by verdict", async () => {
    const lines = await resultLines(api, team.liveKey, job.id);
    assert.deepEqual(
      lines.map(({ input }) => input),
      emails,
    );
    assertAlike(csvRows(await resultsText(api, team.liveKey, job.id)), lines);
    await assertCounted(job);
    await assertChosen(job);
  });

  it("are asked for by what there is, and not by a range of the whole where they are chosen", async () => {
    for (const query of ["reason=none", "verdict=", "limit=0", "limit=10001", "limit=1.5"]) {
      const refused = await download(`?${query}`);
      assert.equal(refused.status, 400, query);
      await refused.arrayBuffer();
    }
    const first = await download("?limit=1", { Range: "bytes=0-4" });
    assert.deepEqual([first.status, first.headers.get("etag")], [200, null]);
    await first.arrayBuffer();
  });

  it("can be taken up again where a download broke off", async () => {
    for (const format of ["csv", "jsonl"]) {
      const whole = await download(`?format=${format}`);
      const bytes = Buffer.from(await whole.arrayBuffer());
      const etag = whole.headers.get("etag") ?? "";
      assert.equal(whole.headers.get("content-length"), String(bytes.length));
      assert.equal(whole.headers.get("accept-ranges"), "bytes");
      const half = Math.floor(bytes.length / 2);
      const rest = await download(`?format=${format}`, { Range: `bytes=${half}-`, "If-Range": etag });
      assert.equal(rest.status, 206);
      assert.equal(rest.headers.get("content-range"), `bytes ${half}-${bytes.length - 1}/${bytes.length}`);
      assert.deepEqual(Buffer.from(await rest.arrayBuffer()), bytes.subarray(half));
      const other = await download(`?format=${format}`, { Range: `bytes=${half}-`, "If-Range": '"another"' });
      assert.deepEqual([other.status, (await other.arrayBuffer()).byteLength], [200, bytes.length]);
      const beyond = await download(`?format=${format}`, { Range: `bytes=${bytes.length}-` });
      assert.deepEqual(
        [beyond.status, beyond.headers.get("content-range")],
        [416, `bytes */${bytes.length}`],
      );
      assert.equal(((await beyond.json()) as { code: string }).code, "range_not_satisfiable");
    }
  });
});

describe("the events of a job", () => {
  it("report its state, its progress and its end; a client that has the end need not reconnect", async () => {
    const job = await waiting();
    const follower = await followJob(api, team.liveKey, job.id);
    await until("it is told how the job stands", () => follower.received.length > 0);
    assert.deepEqual(
      follower.received.map(({ event, job: told }) => [event, told.id, told.status, told.rows.processed]),
      [["job", job.id, "deferred", ANSWERED.length]],
    );
    await api.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key: team.liveKey });
    await follower.ended;
    const last = follower.received.at(-1);
    assert.deepEqual([last?.event, last?.job.status], ["end", "cancelled"]);
    assert.deepEqual(last?.job, await jobOf(api, team.liveKey, job.id));

    const again = await followJob(api, team.liveKey, job.id, "0");
    await again.ended;
    assert.deepEqual(
      again.received.map(({ event }) => event),
      ["job", "end"],
    );
    assert.equal((await followJob(api, team.liveKey, job.id, last?.id)).status, 204);
  });

  it("end with the job that is removed, and with a credential that is revoked", async () => {
    const job = await waiting();
    const label = "for the events";
    const { body: made } = await api.send<{ id: string; secret: string }>("POST", "/v1/keys", {
      key: team.session,
      body: { label, env: "live" },
    });
    const follower = await followJob(api, made.secret, job.id);
    await until("it is heard", () => follower.received.length > 0);
    await api.send("DELETE", `/v1/keys/${made.id}`, { key: team.session });
    await follower.ended;
    assert.deepEqual(
      follower.received.map(({ event }) => event),
      ["job"],
    );
    assert.equal((await followJob(api, made.secret, job.id)).status, 401);

    const other = await followJob(api, team.liveKey, job.id);
    await until("it is heard", () => other.received.length > 0);
    await api.send("DELETE", `/v1/bulk-jobs/${job.id}`, { key: team.liveKey });
    await other.ended;
    assert.equal(other.received[0]?.event, "job");
    assert.equal((await followJob(api, team.liveKey, job.id)).status, 404);
  });

  it("end at once when their process is stopped", async () => {
    const going = await deployment.startApi();
    const job = await waiting();
    const follower = await followJob(going, team.liveKey, job.id);
    await until("it is heard", () => follower.received.length > 0);
    await going.stop();
    await follower.ended;
    assert.deepEqual(
      follower.received.map(({ event }) => event),
      ["job"],
    );
  });
});
