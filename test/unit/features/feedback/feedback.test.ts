import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { composeRequestWork } from "../../../../src/app/request-work.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createFeedback, type FeedbackReading } from "../../../../src/features/feedback/feedback.ts";
import type { FinishedReport } from "../../../../src/features/feedback/finished-report.ts";
import type { JsonEvent } from "../../../../src/features/feedback/read/json-events.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor, silentLog } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

/** Where reports are read, and how long a file takes a place. */

const REPORT: FinishedReport = {
  batches: [{ rows: "[]", contradictions: "[]" }],
  ...{ events: 1, duplicates: 0, ignored: 0 },
};
const ACTOR = actorFor("team_1");
const here = () => false;
const fileOf = (text: string) => ({ bytes: Promise.resolve(new Uint8Array(Buffer.from(text))) });

/**
 * @param begin a transaction
 * @param rows of each statement without one
 */
function feedbackWith(
  begin: () => Promise<unknown>,
  reading: Partial<FeedbackReading> = {},
  rows: unknown[] = [],
) {
  const read = { files: 0, events: 0, statements: 0 };
  const select = async () => {
    read.statements += 1;
    return rows;
  };
  const sql = Object.assign(select, { begin }) as unknown as Database;
  const feedback = createFeedback({
    ...{ sql, clock: createFakeClock(), log: silentLog, providers: ["google"] },
    withdraw: async () => false,
    onRecorded: () => undefined,
    reading: {
      requireTime: () => undefined,
      async readFile() {
        read.files += 1;
        return REPORT;
      },
      async readEvents() {
        read.events += 1;
        return REPORT;
      },
      ...reading,
    },
  });
  return { feedback, read };
}

function feedbackOnFullDay() {
  const unwanted = () => Promise.reject(new Error("a transaction"));
  return feedbackWith(unwanted, {}, [{ events: LIMITS.feedback.eventsPerTeamDay }]);
}

const delivered = (count: number, chars: number): JsonEvent[] =>
  Array.from({ length: count }, (_, i) => ({
    address: `${i}`.padStart(chars - "@b.example".length, "a").concat("@b.example"),
    outcome: "delivered",
  }));

describe("events of a request", () => {
  it("are read in the thread when their addresses are long or many", async () => {
    const { feedback, read } = feedbackWith(async () => ({ added: [], contradictions: [] }));
    const most = LIMITS.feedback.addressCharsReadHere;
    const sent = [delivered(most / 256, 256), delivered(1 + most / 256, 256), delivered(1_000, 20)];
    const inThread: number[] = [];
    for (const events of sent) {
      await feedback.record(ACTOR, events, here);
      inThread.push(read.events);
    }
    assert.deepEqual(inThread, [0, 1, 2]);
  });

  it("of a long request are not read on a day that is used up", async () => {
    const { feedback, read } = feedbackOnFullDay();
    await assert.rejects(feedback.record(ACTOR, delivered(1_000, 20), here), { code: "limit_reached" });
    assert.deepEqual([read.events, read.statements], [0, 1]);
  });
});

describe("the accuracy", () => {
  /** @param accepted new events of each report */
  async function isReadAnewAfter(accepted: number, livemode: boolean): Promise<boolean> {
    const added = [{ verdict: null, outcome: "delivered", hard: false, events: accepted, contradicting: [] }];
    const { feedback, read } = feedbackWith(async () => ({ added, contradictions: [] }));
    await feedback.accuracy(ACTOR, 30);
    const before = read.statements;
    await feedback.record({ ...ACTOR, livemode }, delivered(1, 20), here);
    await feedback.accuracy(ACTOR, 30);
    return read.statements > before;
  }

  it("is read anew after new events alone, and not after those of a test key", async () => {
    assert.equal(await isReadAnewAfter(1, true), true);
    assert.equal(await isReadAnewAfter(0, true), false);
    assert.equal(await isReadAnewAfter(1, false), false);
  });
});

describe("a file", () => {
  it("is neither received nor read on a day that is used up", async () => {
    const { feedback, read } = feedbackOnFullDay();
    let received = 0;
    const file = {
      get bytes() {
        received += 1;
        return Promise.resolve(Buffer.from("a@b.example"));
      },
    };
    const sent = feedback.recordFile(ACTOR, file, { outcome: "delivered" }, here);
    await assert.rejects(sent, { code: "limit_reached" });
    assert.deepEqual([received, read.files], [0, 0]);
  });

  it("keeps its place until its report is stored", async () => {
    const begun: (() => void)[] = [];
    const { feedback } = feedbackWith(
      () =>
        new Promise((resolve) => {
          begun.push(() => resolve({ added: [], contradictions: [] }));
        }),
    );
    const send = () => feedback.recordFile(ACTOR, fileOf("a@b.example"), { outcome: "delivered" }, here);
    const most = LIMITS.feedback.files.streamedPerTeam;
    const stored = Array.from({ length: most }, send);
    await until("all are being stored", () => begun.length === most);
    await assert.rejects(send(), { code: "rate_limited", retryAfterS: 5 });
    for (const end of begun) end();
    await Promise.all(stored);
    const next = send();
    await until("it is being stored", () => begun.length === most + 1);
    begun.at(-1)?.();
    assert.deepEqual(await next, { accepted: 0, duplicates: 1, ignored: 0 });
  });

  it("of a test key takes no place of the team's live ones", async () => {
    const begun: (() => void)[] = [];
    const readFile = () =>
      new Promise<FinishedReport>((resolve) => {
        begun.push(() => resolve({ ...REPORT, events: 0 }));
      });
    const { feedback } = feedbackWith(async () => null, { readFile });
    const sendAs = (livemode: boolean) =>
      feedback.recordFile({ ...ACTOR, livemode }, fileOf("a@b.example"), { outcome: "delivered" }, here);
    const most = LIMITS.feedback.files.streamedPerTeam;
    const reading = Array.from({ length: most }, () => sendAs(false));
    await assert.rejects(sendAs(false), { code: "rate_limited" });
    reading.push(sendAs(true));
    await until("all are read", () => begun.length === most + 1);
    for (const end of begun) end();
    await Promise.all(reading);
  });

  it("of a test key too is neither received nor read once the thread has read for its share long enough today", async () => {
    const refusal = new AppError("limit_reached", "Enough.");
    const asked: string[] = [];
    const requireTime = (share: string) => {
      asked.push(share);
      if (share === "team_1:test") throw refusal;
    };
    const { feedback, read } = feedbackWith(async () => ({ added: [], contradictions: [] }), { requireTime });
    const unread = {
      get bytes(): Promise<Uint8Array> {
        return assert.fail("it is received");
      },
    };
    const ofTest = { ...ACTOR, livemode: false };
    await assert.rejects(feedback.recordFile(ofTest, unread, {}, here), refusal);
    assert.equal(read.files, 0);
    await feedback.recordFile(ACTOR, fileOf("a@b.example"), { outcome: "delivered" }, here);
    assert.deepEqual([asked, read.files], [["team_1:test", "team_1"], 1]);
  });

  it("comes back from the thread as the texts of its rows, its addresses read there", async () => {
    const work = composeRequestWork(silentLog);
    after(() => work.part.stop?.());
    const { feedback } = feedbackWith(async () => ({ added: [], contradictions: [] }), work.feedback);
    const actor = { ...ACTOR, livemode: false };
    const table = "email\na@b.example\na@B.example\nno address\nc@b.example\n";
    assert.deepEqual(await feedback.recordFile(actor, fileOf(table), { outcome: "delivered" }, here), {
      ...{ accepted: 2, duplicates: 1, ignored: 1 },
    });
    const bytes = new Uint8Array(Buffer.from(table));
    const terms = { teamId: "team_1", nowMs: Date.now(), providers: [], mayWithdraw: false };
    const owner = { share: "team_1", isCancelled: here };
    const report = await work.feedback.readFile(bytes, { outcome: "delivered" }, terms, owner);
    assert.equal(typeof report.batches[0]?.rows, "string");
    assert.equal(bytes.length, 0);
  });
});
