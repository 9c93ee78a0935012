import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createClient, type Job, RcptError } from "../../../packages/client/src/index.ts";
import {
  type ScriptedServer,
  startScripted,
  withBroken,
  withProblem,
  withText,
} from "../../support/scripted-server.ts";
import type { Answering } from "../../support/webhook-receiver.ts";

const row = (n: number) => `${JSON.stringify({ row: n, input: `é${n}@example.com`, verdict: "valid" })}\n`;
const ALL = Buffer.from([1, 2, 3, 4].map(row).join(""));
const ETAG = { ETag: '"abc"', "Accept-Ranges": "bytes" };

async function jobOf(t: TestContext, script: Answering[]): Promise<{ server: ScriptedServer; job: Job }> {
  const server = await startScripted(script);
  t.after(() => server.close());
  return { server, job: createClient({ url: server.url, key: "rcpt_test_x" }).bulk.job("job_1") };
}

async function rowsOf(job: Job): Promise<number[]> {
  const seen: number[] = [];
  for await (const { row } of job.results()) seen.push(row);
  return seen;
}

/** Goes on where it is asked to, as the service does. */
const continued: Answering = (received, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(String(received.headers.range))?.[1]);
  response.writeHead(206, { ...ETAG, "Content-Range": `bytes ${from}-${ALL.length - 1}/${ALL.length}` });
  response.end(ALL.subarray(from));
};

describe("results that break off", { concurrency: true }, () => {
  it("are taken up at their byte where the service can", async (t) => {
    for (const cut of [1, 15, ALL.indexOf("\n") + 1, ALL.length - 1]) {
      const { server, job } = await jobOf(t, [withBroken(ALL.subarray(0, cut), ETAG), continued]);
      assert.deepEqual(await rowsOf(job), [1, 2, 3, 4]);
      const { range, "if-range": ifRange } = server.received[1]?.headers ?? {};
      assert.deepEqual([range, ifRange], [`bytes=${cut}-`, '"abc"']);
    }
  });

  it("are whole when all bytes had come", async (t) => {
    const { job } = await jobOf(t, [withBroken(ALL, ETAG), withProblem(416, "range_not_satisfiable")]);
    assert.deepEqual(await rowsOf(job), [1, 2, 3, 4]);
  });

  it("are read again without rows that are known where it cannot, or where they are others now", async (t) => {
    const running = await jobOf(t, [withBroken(ALL.subarray(0, -20)), withText(ALL)]);
    assert.deepEqual(await rowsOf(running.job), [1, 2, 3, 4]);
    assert.equal(running.server.received[1]?.headers.range, undefined);
    const changed = await jobOf(t, [withBroken(ALL.subarray(0, -20), ETAG), withText(ALL, ETAG)]);
    assert.deepEqual(await rowsOf(changed.job), [1, 2, 3, 4]);
  });

  it("of a download are its bytes once, or an error", async (t) => {
    const { job } = await jobOf(t, [withBroken(ALL.subarray(0, 33), ETAG), continued]);
    assert.equal(await new Response(job.download({ format: "jsonl" })).text(), ALL.toString());
    const changed = await jobOf(t, [withBroken(ALL.subarray(0, 33)), withText(ALL)]);
    const read = new Response(changed.job.download()).text();
    await assert.rejects(read, (error) => error instanceof RcptError && error.code === "network_error");
  });

  it("are given up when nothing more comes", async (t) => {
    const { server, job } = await jobOf(t, [withBroken(row(1))]);
    await assert.rejects(
      rowsOf(job),
      (error) => error instanceof RcptError && error.code === "network_error",
    );
    assert.ok(server.received.length >= 5);
  });
});

describe("results", () => {
  it("that are not JSON lines are an error", async (t) => {
    const { job } = await jobOf(t, [withText(`${row(1)}<html>\n`)]);
    await assert.rejects(
      rowsOf(job),
      (error) => error instanceof RcptError && error.code === "malformed_answer",
    );
  });

  it("are asked for by verdict, reason and provider", async (t) => {
    const { server, job } = await jobOf(t, [withText("")]);
    const rows = job.results({ verdict: "risky", reason: "catch_all", provider: "google" });
    assert.equal((await rows.next()).done, true);
    const asked = "verdict=risky&reason=catch_all&provider=google&format=jsonl";
    assert.equal(server.received[0]?.path, `/v1/bulk-jobs/job_1/results?${asked}`);
  });
});
