import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createClient, type Job, RcptError } from "../../../packages/client/src/index.ts";
import {
  type ScriptedServer,
  startScripted,
  withBroken,
  withJson,
  withProblem,
  withReset,
  withText,
} from "../../support/scripted-server.ts";
import { type Answering, withStatus } from "../../support/webhook-receiver.ts";

const STREAM = { "Content-Type": "text/event-stream" };
const jobAt = (status: string, processed: number) => ({ id: "job_1", status, rows: { total: 3, processed } });
const event = (name: string, id: string, job: unknown) =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(job)}\n\n`;
const RUNNING = event("job", "0", jobAt("processing", 1));
const END = event("end", "end", jobAt("completed", 3));

async function jobOf(t: TestContext, script: Answering[]): Promise<{ server: ScriptedServer; job: Job }> {
  const server = await startScripted(script);
  t.after(() => server.close());
  return { server, job: createClient({ url: server.url, key: "rcpt_test_x" }).bulk.job("job_1") };
}

/** Number of processed rows in each snapshot of the job. */
async function followed(job: Job): Promise<number[]> {
  const seen: number[] = [];
  for await (const { rows } of job.progress()) seen.push(rows.processed);
  return seen;
}

describe("following a job", { concurrency: true }, () => {
  it("goes on behind the last event when a stream is cut in the middle of the next", async (t) => {
    const { server, job } = await jobOf(t, [
      withBroken(`retry: 1000\n: hello\n${RUNNING}${END.slice(0, 30)}`, STREAM),
      withText(END, STREAM),
    ]);
    assert.deepEqual(await followed(job), [1, 3]);
    assert.equal(job.snapshot?.status, "completed");
    assert.deepEqual(
      server.received.map(({ headers }) => headers["last-event-id"]),
      [undefined, "0"],
    );
  });

  it("ends at 204 after the last event, and reconnects when a stream ends without one", async (t) => {
    const { server, job } = await jobOf(t, [withText(RUNNING, STREAM), withText(END, STREAM)]);
    assert.equal((await job.done()).status, "completed");
    assert.equal(server.received.length, 2);
  });

  it("reads the job where no event ever comes", async (t) => {
    const nothing = withText(": kept back\n\n", STREAM);
    const { server, job } = await jobOf(t, [
      nothing,
      withReset,
      withStatus(204),
      withJson(jobAt("cancelled", 2)),
    ]);
    assert.deepEqual(await followed(job), [2]);
    assert.equal(server.received.at(-1)?.path, "/v1/bulk-jobs/job_1");
  });

  it("gets over an event that is not JSON", async (t) => {
    const { job } = await jobOf(t, [withText(`${RUNNING}data: {"id": \n\n`, STREAM), withText(END, STREAM)]);
    assert.deepEqual(await followed(job), [1, 3]);
  });

  it("throws when the job is not there any more", async (t) => {
    const { server, job } = await jobOf(t, [withProblem(404, "not_found")]);
    await assert.rejects(job.done(), (error) => error instanceof RcptError && error.code === "not_found");
    assert.equal(server.received.length, 1);
  });

  it("closes its connection when the caller stops reading, and throws the reason of its signal", async (t) => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const open: Answering = (_, response) => {
      response.on("close", closed);
      response.writeHead(200, STREAM).write(RUNNING);
    };
    const { job } = await jobOf(t, [open]);
    for await (const { status } of job.progress()) {
      assert.equal(status, "processing");
      break;
    }
    await gone;
    const control = new AbortController();
    const reason = new Error("enough");
    const aborted = async () => {
      for await (const _ of job.progress({ signal: control.signal })) control.abort(reason);
    };
    await assert.rejects(aborted(), reason);
  });
});

describe("cancelling a job", () => {
  it("is done when the first answer was lost", async (t) => {
    const script = [withReset, withProblem(409, "job_finished"), withJson(jobAt("cancelled", 1))];
    const { job } = await jobOf(t, script);
    assert.equal((await job.cancel()).status, "cancelled");
    const finished = await jobOf(t, [withProblem(409, "job_finished"), withJson(jobAt("completed", 3))]);
    await assert.rejects(
      finished.job.cancel(),
      (error) => error instanceof RcptError && error.code === "job_finished",
    );
  });
});
