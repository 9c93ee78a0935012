import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAnswerBody } from "../../../src/http/answer-body.ts";
import { type DrawnRow, jsonOf, type RowTemplate } from "../../../src/services/verify/draw-rows.ts";

const template = (afterEmail: string, afterLatency: string) =>
  ({ afterEmail, afterLatency, charged: true, result: {} }) as RowTemplate;
const ONE = template('","verdict":"valid","latency_ms":', ',"x":1,');
const LARGE = template(`","hosts":"${"h".repeat(9_000)}","latency_ms":`, ',"x":2,');
const [NOW, LATER] = ['"cache_ttl_seconds":1}', '"cache_ttl_seconds":86400}'];

const ROWS: DrawnRow[] = [
  { template: ONE, email: "a@b.test", latencyMs: 0, times: NOW },
  { template: ONE, email: "a@b.test", latencyMs: 4_294_967_295, times: NOW },
  { template: ONE, email: "c@b.test", latencyMs: 7, times: LATER },
  { template: LARGE, email: "someone@example.test", latencyMs: 12, times: LATER },
  // As long as another, and shorter than the one before.
  { template: ONE, email: "d@b.test", latencyMs: 8, times: NOW },
];

describe("the body of an answer", () => {
  it("has the bytes of its JSON, whatever was put together before", () => {
    const body = createAnswerBody();
    for (const row of [...ROWS, ...ROWS]) assert.equal(Buffer.from(body.fill(row)).toString(), jsonOf(row));
  });
});
