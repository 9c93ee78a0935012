import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catchAllProbesPerRow, siteFormula } from "../../../../scripts/capacity/formula.ts";
import { sessionShape } from "../../../../scripts/capacity/session.ts";
import { siteOf } from "./classes.ts";

const near = (value: number, wanted: number) =>
  assert.ok(Math.abs(value - wanted) < 1e-4 * Math.max(1, wanted), `${value}, not ${wanted}`);

describe("what a session comes to", () => {
  it("holds all its transactions where no address is refused, in full writes", () => {
    const { transactions, writes } = sessionShape(
      siteOf({ depth: 10, transactionsPerSession: 45, rejectionsPerSession: 1_000 }),
      0,
    );
    near(transactions, 45);
    near(writes, 5);
  });

  it("never writes more than may follow if all were refused", () => {
    const { transactions, writes } = sessionShape(siteOf({ depth: 10, rejectionsPerSession: 8 }), 0);
    near(transactions, 50);
    // At most eight while no recipient is refused.
    near(writes, 7);
    const all = sessionShape(siteOf({ depth: 10, rejectionsPerSession: 8 }), 1);
    near(all.transactions, 8);
    near(all.writes, 1);
  });

  it("ends at the first refusal where one is too many: a geometric number of writes", () => {
    const shape = sessionShape(
      siteOf({ depth: 10, rejectionsPerSession: 1, transactionsPerSession: 10_000 }),
      0.25,
    );
    near(shape.transactions, 4);
    near(shape.writes, 4);
  });

  it("is as long as measured with the shipped limits: some 1 360 connections for 80 200 questions", () => {
    const { transactions } = sessionShape(
      siteOf({ depth: 10, transactionsPerSession: 100, rejectionsPerSession: 8 }),
      0.103,
    );
    const connections = 80_200 / transactions;
    assert.ok(connections > 1_330 && connections < 1_390, `${connections} connections`);
  });

  it("leaves when it is worn, where one that comes next is not long in coming", () => {
    const site = siteOf({
      depth: 10,
      transactionsPerSession: 100,
      rejectionsPerSession: 8,
      setUpRoundTrips: 3,
    });
    const worn = sessionShape(site, 0.1);
    const used = sessionShape({ ...site, setUpRoundTrips: 100 }, 0.1);
    near(Math.round(worn.transactions), 60);
    near(Math.round(worn.writes), 12);
    near(Math.round(used.transactions), 76);
    near(Math.round(used.writes), 23);
    const single = { ...site, depth: 1 };
    near(
      sessionShape(single, 0.1).transactions,
      sessionShape({ ...single, setUpRoundTrips: 100 }, 0.1).transactions,
    );
  });

  it("makes one catch-all probe for a domain, unless all its addresses are refused", () => {
    near(catchAllProbesPerRow({ refused: 0, rowsPerDomain: 10 }), 0.1);
    near(catchAllProbesPerRow({ refused: 0.5, rowsPerDomain: 1 }), 0.5);
    near(catchAllProbesPerRow({ refused: 1, rowsPerDomain: 4 }), 0);
  });

  it("has the rate of docs/capacity.md where no limit of a session is met", () => {
    const site = siteOf({
      depth: 1,
      connections: 10,
      roundTripMs: 20,
      answerMs: 0,
      refused: 0,
      rowsPerDomain: 1e12,
    });
    // 50 writes of 20 ms, three to begin with and one to close.
    near(siteFormula(site).perS, (10 * 50) / ((50 + 3 + 1) * 0.02));
    near(siteFormula({ ...site, pipelining: false }).perS, (10 * 50) / ((150 + 3 + 1) * 0.02));
    near(siteFormula({ ...site, perHour: 3_600 }).perS, 1);
  });
});
