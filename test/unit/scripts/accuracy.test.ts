import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { blindReportOf, missLines, reportOf } from "../../../scripts/accuracy/report.ts";
import { HALVES, normalised, parseCorpus, readCorpus } from "../../corpus/labelled.ts";

const RECIPIENT = ["mailbox_not_found", "mailbox_disabled", "mailbox_full"];

/** Messages here name counts and lines only, because authors of rules read them. */
describe("the two halves of one collection", () => {
  for (const name of HALVES) {
    it(`${name} has enough of both kinds and repeats nothing`, () => {
      const rows = readCorpus(name) ?? [];
      assert.ok(rows.length >= 160, `${rows.length} rows`);
      const faults = rows.filter(({ label }) => RECIPIENT.includes(label)).length;
      assert.ok(faults >= 90 && rows.length - faults >= 80, `${faults} of ${rows.length} recipient faults`);
      const first = new Map<string, number>();
      for (const { lines, line } of rows) {
        const text = normalised(lines);
        assert.ok(!first.has(text), `line ${line} repeats line ${first.get(text)}`);
        first.set(text, line);
      }
    });
  }

  it("share neither a source nor a reply", () => {
    const [one = [], other = []] = HALVES.map((name) => readCorpus(name) ?? []);
    const sources = new Set(one.map(({ source }) => source));
    const replies = new Set(one.map(({ lines }) => normalised(lines)));
    const shared = other.filter(({ source, lines }) => sources.has(source) || replies.has(normalised(lines)));
    assert.deepEqual(
      shared.map(({ line }) => line),
      [],
    );
  });
});

describe("report of a blind corpus", () => {
  const rows = parseCorpus(
    [
      "rcpt\t-\tmailbox_not_found\t550 5.1.1 User unknown\tone",
      "rcpt\tpostfix\tmailbox_full\t552 5.2.2 Mailbox full\tone",
      "rcpt\t-\tmailbox_disabled\t451 4.7.1 Zyx wvu tsrq\ttwo",
    ].join("\n"),
  );

  it("gives sums and no reply", () => {
    const { lines } = blindReportOf("blind-x", rows, rows.slice(0, 1));
    const text = lines.join("\n");
    assert.match(text, /mailbox_not_found +1 of 1 \(100\.0 %\)/);
    assert.match(text, /mailbox_disabled +0 of 1/);
    assert.match(text, /one 1\/2, two 0\/1/);
    assert.match(text, /1 of its rows stand word for word/);
    assert.doesNotMatch(text, /unknown or full|User unknown|Mailbox full|Zyx|labelled \\ given/);
  });

  it("differs from an opened one, which shows what was taken for what", () => {
    const { lines, judged } = reportOf("opened-x", rows, []);
    assert.match(lines.join("\n"), /labelled \\ given/);
    assert.match(missLines(judged).join("\n"), /Zyx wvu tsrq/);
  });
});
