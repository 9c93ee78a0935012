import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { RecordFeedbackSchema } from "../../../src/api/schemas/feedback.ts";
import { addressedEvents, toApiEvent } from "../../../src/cli/feedback-files.ts";
import { readFeedbackFile } from "../../../src/features/feedback/read/file.ts";

describe("events of a file, for the API", () => {
  it("are taken by it whatever dates and replies stand in the file", async () => {
    const dates = ["12/31/20266", "1/1/0001", "2026-11-26T10:00:00Z", "9999999999", "never", "9".repeat(13)];
    const table = `email,status,date,reply\n${dates.map((date) => `a@b.test,bounced,${date},550 \u{1f4a9}`).join("\n")}\n`;
    const { events } = await readFeedbackFile(Buffer.from(table), {});
    const sent = addressedEvents(events).map(toApiEvent);
    assert.equal(sent.length, dates.length);
    assert.deepEqual(v.safeParse(RecordFeedbackSchema, { events: sent }).issues, undefined);
    assert.equal(sent[2]?.at, "2026-11-26T10:00:00.000Z");
  });
});
