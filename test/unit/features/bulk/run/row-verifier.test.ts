import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createControl, Interruption } from "../../../../../src/features/bulk/run/control.ts";
import type { RowAnswer } from "../../../../../src/features/bulk/run/row-verifier.ts";
import type { BatchAnswer } from "../../../../../src/features/verify/batch/examine-batch.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import type { Evidence } from "../../../../../src/verification/evidence.ts";
import {
  ANSWERED,
  ask,
  CHUNK,
  emailsOf,
  createRowFixture as fixture,
  retryAt,
  turn,
} from "../../../../support/row-batches.ts";

const { chunkRowsAtOnce, retryRowsAtOnce, siteRowsAtOnce } = LIMITS.bulk;
const { pieceRows, largePieceRows, chunkBudgetMs, rowDeadlineMs, restMs } = LIMITS.bulk;
const watchEveryMs = LIMITS.bulk.watchEveryMs.chunk;

function entryOf(smtpClass: string, retryAfterS: number | null = null): CacheEntry {
  const evidence = { mx: { hosts: ["mx.refusing.example"] }, smtp: { class: smtpClass, retryAfterS } };
  return { evidence: evidence as unknown as Evidence, storedAt: 0, ttlS: 60 };
}

const found = (smtpClass: string, retryAfterS?: number): BatchAnswer => ({
  finding: { entry: entryOf(smtpClass, retryAfterS), cached: false },
});

const rowsOf = (batches: readonly { emails: readonly string[] }[]) =>
  batches.reduce((sum, { emails }) => sum + emails.length, 0);
const reasonOf = ({ verified, wait }: RowAnswer) => verified?.result.reason ?? `wait: ${wait?.reason}`;

describe("the rows of a task", () => {
  it("are answered in order; what fails or is no address is free", async () => {
    const { verify, started } = fixture();
    const verified = verify(["a@example.com", "late@example.com", "no address"]);
    await turn();
    const late: BatchAnswer = { finding: { entry: null, cached: false, failure: "deadline" } };
    started[0]?.answer(ANSWERED, late, ANSWERED);
    const answers = await verified;
    assert.deepEqual(answers.map(reasonOf), ["accepted_mailbox", "deadline", "invalid_format"]);
    assert.deepEqual(
      answers.map((answer) => answer.verified?.charged),
      [true, false, false],
    );
  });

  it("wait where their server put them off, for as long as it said, and are last answered with what it said", async () => {
    const { verify, started } = fixture();
    const verified = verify(emailsOf(4));
    await turn();
    started[0]?.answer(
      found("greylisted", 300),
      found("rate_limited_by_server"),
      { deferred: { site: "busy.example", cause: "busy" } },
      found("timeout"),
    );
    const answers = await verified;
    assert.deepEqual(
      answers.map(
        ({ wait }) => wait && [wait.reason, wait.site, wait.retryAfterMs, wait.last().result.reason],
      ),
      [
        ["greylisted", "refusing.example", 300_000, "greylisted"],
        ["rate_limited_by_server", "refusing.example", null, "rate_limited_by_server"],
        ["busy", "busy.example", null, "deadline"],
        undefined,
      ],
    );
    assert.ok(answers.every(({ wait }) => !wait?.last().charged));
  });

  it("of a retry wait for their site and ask again; those of a chunk do neither", async () => {
    const { verify, started } = fixture();
    const all = [verify(["a@example.com"]), verify(["b@example.com"], retryAt("x"))];
    await turn();
    const [chunk, retry] = started;
    assert.deepEqual([chunk?.options.waitsForSite, retry?.options.waitsForSite], [false, true]);
    const entries = ["greylisted", "rate_limited_by_server", "sender_blocked", "accepted"].map((name) =>
      entryOf(name),
    );
    assert.deepEqual(
      entries.map((entry) => retry?.options.refresh(entry)),
      [true, true, true, false],
    );
    assert.ok(entries.every((entry) => chunk?.options.refresh(entry) === false));
    for (const batch of started) batch.answer(ANSWERED);
    await Promise.all(all);
  });

  it("have no result when they are cancelled, also those in flight, and those that have not begun", async () => {
    const { verify, started } = fixture();
    const control = createControl();
    const flying = verify(emailsOf(chunkRowsAtOnce), CHUNK, control);
    const waiting = verify(["b@example.com"], CHUNK, control);
    await turn();
    control.cancel();
    await assert.rejects(flying, Interruption);
    await assert.rejects(waiting, Interruption);
    assert.equal(rowsOf(started), chunkRowsAtOnce);
  });

  it("of a test key ask no server and are free; given up, neither", async () => {
    const { rows, verify, started } = fixture();
    const test = { ...ask, livemode: false };
    const [verified] = await verify(["valid@example.com"], CHUNK, createControl(), test);
    assert.deepEqual([verified?.verified?.charged, verified?.verified?.result.livemode], [false, false]);
    const givenUp = rows.giveUp("a@example.com", test);
    assert.deepEqual(
      [givenUp.result.reason, givenUp.result.livemode, givenUp.charged],
      ["internal_error", false, false],
    );
    assert.equal(started.length, 0);
  });
});

describe("the time of a chunk", () => {
  it("ends with its budget: what is not answered waits", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(emailsOf(10));
    await turn();
    started[0]?.answer(ANSWERED, ANSWERED);
    await clock.advanceAsync(chunkBudgetMs - watchEveryMs);
    assert.equal(started[0]?.handedIn, false);
    await clock.advanceAsync(watchEveryMs);
    const answers = await verified;
    assert.deepEqual(
      answers.map(({ wait }) => wait === undefined),
      Array.from({ length: 10 }, (_, i) => i < 2),
    );
    assert.equal(clock.pending, 0);
  });

  it("ends sooner when only a small rest is left: others wait behind it", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(emailsOf(100));
    await turn();
    started[0]?.answer(...Array.from({ length: 90 }, () => ANSWERED));
    await clock.advanceAsync(watchEveryMs + restMs - 1);
    assert.equal(started[0]?.handedIn, false);
    await clock.advanceAsync(watchEveryMs);
    assert.equal((await verified).filter(({ wait }) => wait !== undefined).length, 10);
  });

  it("of a chunk of few rows has no such end", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(["a@example.com"]);
    await clock.advanceAsync(chunkBudgetMs - watchEveryMs);
    assert.equal(started[0]?.handedIn, false);
    await clock.advanceAsync(watchEveryMs);
    assert.equal((await verified)[0]?.wait?.reason, "busy");
  });

  it("of a retry is that of a row: no row waits behind it", async () => {
    const { verify, started, clock } = fixture();
    const verified = verify(["a@example.com"], retryAt(""));
    await turn();
    await clock.advanceAsync(rowDeadlineMs - LIMITS.bulk.watchEveryMs.retry);
    assert.equal(started[0]?.handedIn, false);
    await clock.advanceAsync(LIMITS.bulk.watchEveryMs.retry);
    assert.equal((await verified)[0]?.wait?.reason, "busy");
  });

  it("begins when there are places for its rows, not before", async () => {
    const { verify, started, clock } = fixture();
    const first = verify(emailsOf(chunkRowsAtOnce));
    const second = verify(["b@example.com"]);
    await clock.advanceAsync(chunkBudgetMs - watchEveryMs);
    assert.equal(rowsOf(started), chunkRowsAtOnce);
    await clock.advanceAsync(watchEveryMs);
    await first;
    assert.equal(rowsOf(started), chunkRowsAtOnce + 1);
    await clock.advanceAsync(chunkBudgetMs - watchEveryMs);
    assert.equal(started.at(-1)?.handedIn, false);
    started.at(-1)?.answer(ANSWERED);
    assert.equal((await second)[0]?.verified?.result.reason, "accepted_mailbox");
  });
});

describe("places", () => {
  it("are taken in pieces: part of a chunk begins when there is room for it, the rest later", async () => {
    const { verify, started, clock } = fixture();
    const first = verify(emailsOf(chunkRowsAtOnce));
    const second = verify(emailsOf(2 * pieceRows).map((email, i) => email.replace("a", i % 2 ? "b" : "c")));
    await turn();
    started[0]?.answer(...Array.from({ length: pieceRows }, () => ANSWERED));
    await clock.advanceAsync(watchEveryMs);
    assert.equal(rowsOf(started), chunkRowsAtOnce + pieceRows);
    await clock.advanceAsync(chunkBudgetMs);
    assert.equal(rowsOf(started), chunkRowsAtOnce + 2 * pieceRows);
    for (const batch of started.slice(-1)) batch.answer(...batch.emails.map(() => ANSWERED));
    await clock.advanceAsync(watchEveryMs);
    assert.equal((await first).length, chunkRowsAtOnce);
    const answers = await second;
    assert.equal(answers.filter(({ verified }) => verified !== undefined).length, pieceRows);
  });

  it("are larger pieces of a large chunk, as many at once as there is room for: each costs the same calls and messages", async () => {
    for (const rows of [chunkRowsAtOnce, LIMITS.bulk.rowsPerLargeChunk]) {
      const { verify, started } = fixture();
      const control = createControl();
      const cancelled = assert.rejects(
        verify(
          Array.from({ length: rows }, (_, i) => `a@d${i}.example`),
          CHUNK,
          control,
        ),
        Interruption,
      );
      await turn();
      const size = rows > chunkRowsAtOnce ? largePieceRows : pieceRows;
      const whole = Math.floor(chunkRowsAtOnce / size);
      const sizes = started.map(({ emails }) => emails.length);
      assert.deepEqual(sizes.slice(0, whole), Array(whole).fill(size));
      assert.ok(sizes.length <= whole + 1, `${sizes}`);
      control.cancel();
      await cancelled;
    }
  });

  it("of pieces keep the rows of a domain together, and each answer goes to its row", async () => {
    const { verify, started } = fixture();
    const emails = Array.from({ length: 2 * pieceRows }, (_, i) => `a${i}@${i % 2 ? "odd" : "even"}.example`);
    const verified = verify(emails);
    await turn();
    assert.deepEqual(
      started.map((batch) => new Set(batch.emails.map((email) => email.split("@")[1])).size),
      [1, 1],
    );
    for (const batch of [...started].reverse()) batch.answer(...batch.emails.map(() => ANSWERED));
    const answers = await verified;
    assert.deepEqual(
      answers.map((answer) => answer.verified?.result.email),
      emails,
    );
  });

  it("of rows that are answered are free for those of other chunks", async () => {
    const { verify, started, clock } = fixture();
    const all = [verify(emailsOf(chunkRowsAtOnce)), verify(emailsOf(10))];
    await clock.advanceAsync(watchEveryMs);
    assert.equal(rowsOf(started), chunkRowsAtOnce);
    started[0]?.answer(...Array.from({ length: 10 }, () => ANSWERED));
    await clock.advanceAsync(watchEveryMs);
    assert.equal(rowsOf(started), chunkRowsAtOnce + 10);
    await clock.advanceAsync(2 * chunkBudgetMs);
    await Promise.all(all);
  });

  it("of retries are their own: neither lane waits for the other, and no site has all of them", async () => {
    const { verify, started, clock } = fixture();
    const all = [
      verify(emailsOf(chunkRowsAtOnce)),
      verify(emailsOf(siteRowsAtOnce), retryAt("slow.example")),
      verify(["b@example.com"], retryAt("slow.example")),
      verify(["c@example.com"], retryAt("other.example")),
      verify(emailsOf(retryRowsAtOnce), retryAt("")),
    ];
    await turn();
    assert.equal(rowsOf(started.filter(({ options }) => !options.waitsForSite)), chunkRowsAtOnce);
    const retries = started.filter(({ options }) => options.waitsForSite);
    assert.deepEqual(
      retries.map(({ emails }) => emails.length),
      [siteRowsAtOnce, 1],
    );
    assert.equal(retries[1]?.emails[0], "c@example.com");
    for (let i = 0; i < 5; i++) await clock.advanceAsync(rowDeadlineMs);
    await Promise.all(all);
  });
});
