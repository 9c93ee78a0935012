import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient, type FeedbackEvent } from "../../../packages/client/src/index.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";

/** Reports events to a service that counts them. @returns events and bytes of each request */
async function report(events: readonly FeedbackEvent[]) {
  const requests: { events: number; bytes: number }[] = [];
  const client = createClient({
    url: "https://rcpt.test",
    fetch: async (_url, init) => {
      const body = String(init?.body);
      const { length } = JSON.parse(body).events;
      requests.push({ events: length, bytes: Buffer.byteLength(body) });
      return Response.json({ accepted: length, duplicates: 0, ignored: 0 });
    },
  });
  return { sums: await client.reportFeedback(events), requests };
}

const bounce = (reply: string): FeedbackEvent => ({ address: "a@b.test", outcome: "bounced", reply });

describe("feedback", () => {
  it("goes in requests of as many events as the API takes", async () => {
    const { sums, requests } = await report(Array.from({ length: 2_001 }, () => bounce("550 no")));
    assert.deepEqual(
      requests.map(({ events }) => events),
      [1_000, 1_000, 1],
    );
    assert.equal(sums.accepted, 2_001);
    assert.deepEqual((await report([])).requests, []);
  });

  it("goes in smaller requests where replies are long", async () => {
    const long = bounce("é".repeat(LIMITS.feedback.replyChars));
    const { sums, requests } = await report(Array.from({ length: 1_000 }, () => long));
    assert.equal(sums.accepted, 1_000);
    assert.equal(requests.length, 5);
    for (const { bytes } of requests) assert.ok(bytes <= LIMITS.feedback.bodyBytes, `${bytes} bytes`);
  });
});
