import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { NO_ANSWER, type ReportedEvent } from "../../../../src/features/feedback/event.ts";
import type { FeedbackRow } from "../../../../src/features/feedback/feedback-sql.ts";
import { finishReport, type ReportTerms } from "../../../../src/features/feedback/finished-report.ts";

const TERMS: ReportTerms = {
  ...{ teamId: "team_1", nowMs: Date.UTC(2026, 0, 2) },
  ...{ providers: ["google"], mayWithdraw: true },
};

const event = (address: string, rest: Partial<ReportedEvent> = {}): ReportedEvent => ({
  ...NO_ANSWER,
  ...{ address, outcome: "delivered", atMs: null, bounce: null },
  ...rest,
});
const rowsOf = (events: readonly ReportedEvent[]) =>
  finishReport(events, TERMS).batches.flatMap(
    ({ rows }) => JSON.parse(rows) as (FeedbackRow & { place: number })[],
  );

describe("a finished report", () => {
  it("ignores an address longer than a request may have, unread", () => {
    const named = (chars: number) => `${"x".repeat(chars - " <a@b.example>".length)} <a@b.example>`;
    const most = LIMITS.http.emailBytes;
    const { events, ignored } = finishReport([event(named(most)), event(named(most + 1))], TERMS);
    assert.deepEqual([events, ignored], [1, 1]);
  });

  it("has a text of rows for each statement, which are numbered anew in each", () => {
    const { rowsPerStatement } = LIMITS.feedback;
    const events = Array.from({ length: rowsPerStatement + 2 }, (_, i) => event(`a${i}@b.example`));
    const { batches } = finishReport(events, TERMS);
    assert.equal(batches.length, 2);
    assert.deepEqual(
      rowsOf(events)
        .map(({ place }) => place)
        .slice(rowsPerStatement - 1),
      [rowsPerStatement - 1, 0, 1],
    );
  });

  it("keeps the names of reasons and providers that rcpt gives, so that a team cannot make groups without end", () => {
    const names = { verdict: "valid", rule: "rcpt.accepted" } as const;
    const [known, unknown] = rowsOf([
      event("a@b.example", { ...names, reason: "accepted_mailbox", provider: "google" }),
      event("c@b.example", { ...names, reason: "reason_1", provider: "provider_1" }),
    ]);
    assert.deepEqual(
      [known?.reason, known?.provider, known?.rule],
      ["accepted_mailbox", "google", names.rule],
    );
    assert.deepEqual([unknown?.reason, unknown?.provider, unknown?.rule], [null, null, names.rule]);
  });

  it("names the bounces that contradict an answer, for teams that may have them checked again", () => {
    const bounce = { reason: "mailbox_not_found", rule: "text.unknown", hard: true, provider: null } as const;
    const said = { reply: "", enhancedCode: null, permanent: null, mxHost: "" };
    const bounced = { outcome: "bounced", bounce: { ...bounce, said } } as const;
    const events = [event("a@b.example", bounced), event("c@b.example", { ...bounced, verdict: "valid" })];
    const contradictions = (terms: ReportTerms) => finishReport(events, terms).batches[0]?.contradictions;
    const { nowMs: atMs } = TERMS;
    assert.equal(contradictions(TERMS), JSON.stringify([{ place: 1, cacheKey: "c@b.example", atMs }]));
    assert.equal(contradictions({ ...TERMS, mayWithdraw: false }), "[]");
  });
});
