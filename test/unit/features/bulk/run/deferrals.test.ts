import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  type DeferralContext,
  offsetsOfRowSet,
  sortRows,
} from "../../../../../src/features/bulk/run/deferrals.ts";
import type {
  RowWithAnswer,
  VerifiedRow,
  WaitReason,
} from "../../../../../src/features/bulk/run/row-verifier.ts";

const { retryRowsPerSite, retryMaxMs, retryMs } = LIMITS.bulk;
const FIRST_MS = 300_000;
const MAX_MS = 14_400_000;
const QUEUE_MAX_MS = 86_400_000;

function context(rest: Partial<DeferralContext> = {}): DeferralContext {
  const settings = { firstMs: FIRST_MS, maxMs: MAX_MS, queueMaxMs: QUEUE_MAX_MS };
  const waited = { deferredMs: 0, attempts: 0 };
  return {
    ...settings,
    ...waited,
    chunkRows: 1_000,
    egress: "egress-1",
    parkedMs: () => null,
    random: () => 0,
    ...rest,
  };
}

const verified = (reason: string) => ({ result: { reason }, charged: false }) as unknown as VerifiedRow;
const known = (offset: number): RowWithAnswer => ({ offset, answer: { verified: verified("known") } });

function waits(
  offset: number,
  reason: WaitReason,
  site = "a.example",
  retryAfterMs: number | null = null,
): RowWithAnswer {
  const last = () => verified(`last ${reason}`);
  return { offset, answer: { wait: { reason, site, retryAfterMs, parked: false, last } } };
}

function parked(offset: number, site = "a.example"): RowWithAnswer {
  const last = () => verified("last parked");
  return {
    offset,
    answer: { wait: { reason: "sender_blocked", site, retryAfterMs: 60_000, parked: true, last } },
  };
}

const reasonsOf = (sorted: ReturnType<typeof sortRows>) =>
  sorted.answered.map(({ offset, verified: { result } }) => [offset, result.reason as string]);

/** When a row that is refused again and again is asked, since its first refusal. */
function refusals(
  hintMs: number | null,
  settings: Partial<DeferralContext> = {},
  patienceMs?: number,
): number[] {
  const askedMs: number[] = [];
  let waited = { deferredMs: 0, attempts: 0 };
  for (let turn = 0; turn < 10_000; turn++) {
    const row = waits(0, "greylisted", "a.example", hintMs);
    if (row.answer.wait && patienceMs !== undefined) row.answer.wait.patienceMs = patienceMs;
    const { deferrals } = sortRows([row], context({ ...settings, ...waited }));
    const [deferral] = deferrals;
    if (deferral === undefined) return askedMs;
    waited = { deferredMs: deferral.deferredMs + deferral.dueInMs, attempts: deferral.attempts };
    askedMs.push(waited.deferredMs);
  }
  throw new Error("it never ends");
}

describe("a row that was put off", () => {
  it("is asked again after longer and longer times, at the bound for the last time", () => {
    assert.deepEqual(
      refusals(null).map((ms) => ms / 60_000),
      [5, 15, 35, 75, 155, 240],
    );
  });

  it("is given up sooner where its reply seldom changes, never later than the setting allows", () => {
    const minutes = (patienceMs: number, settings: Partial<DeferralContext> = {}) =>
      refusals(null, settings, patienceMs).map((ms) => ms / 60_000);
    assert.deepEqual(minutes(LIMITS.bulk.seldomMs), [5, 15]);
    assert.deepEqual(minutes(LIMITS.bulk.temporaryMs), [5, 15, 35, 60]);
    assert.deepEqual(minutes(LIMITS.bulk.temporaryMs, { maxMs: 600_000 }), [5, 10]);
  });

  it("is asked again when the server said, but no server is asked every second for hours", () => {
    assert.deepEqual(
      refusals(3_600_000).map((ms) => ms / 60_000),
      [60, 120, 180, 240],
    );
    const hurried = refusals(1_000);
    assert.equal(hurried[0], retryMs);
    assert.ok(hurried.length < 10, String(hurried));
    assert.equal(hurried.at(-1), MAX_MS);
  });

  it("is asked at the bound at the latest, whatever the server said, and whatever chance adds", () => {
    assert.deepEqual(refusals(2 * MAX_MS), [MAX_MS]);
    assert.deepEqual(refusals(2 * MAX_MS, { random: () => 0.99 }), [MAX_MS]);
    const spread = refusals(null, { random: () => 0.5 });
    assert.equal(spread[0], FIRST_MS * 1.05);
    assert.equal(spread.at(-1), MAX_MS);
  });

  it("is answered with its last result when it has waited for long enough", () => {
    const late = context({ deferredMs: MAX_MS, attempts: 4 });
    assert.deepEqual(reasonsOf(sortRows([waits(3, "greylisted")], late)), [[3, "last greylisted"]]);
  });

  it("has all of its time, also after a long wait in the queue, and only once", () => {
    const lined = context({ deferredMs: QUEUE_MAX_MS - 1, attempts: 0 });
    const [first] = sortRows([waits(0, "greylisted")], lined).deferrals;
    assert.deepEqual([first?.deferredMs, first?.attempts], [0, 1]);
    const again = context({ deferredMs: 7_000, attempts: 1 });
    const [busy] = sortRows([waits(0, "busy")], again).deferrals;
    assert.deepEqual([busy?.deferredMs, busy?.attempts], [7_000, 1]);
    const [second] = sortRows([waits(0, "greylisted")], again).deferrals;
    assert.deepEqual([second?.deferredMs, second?.attempts], [7_000, 2]);
  });
});

describe("a row at a busy site", () => {
  it("is asked again at once where others got through, later where none did", () => {
    const lined = context({ deferredMs: 5_000 });
    const moving = sortRows([known(0), waits(1, "busy")], lined);
    const stuck = sortRows([waits(0, "busy"), waits(1, "busy")], lined);
    assert.deepEqual([moving.deferrals[0]?.dueInMs, stuck.deferrals[0]?.dueInMs], [0, retryMaxMs]);
  });

  it("is queued at once where it comes from a chunk, also when the whole chunk was busy", () => {
    const chunk = sortRows([waits(0, "busy"), waits(1, "busy")], context({ deferredMs: 0 }));
    assert.equal(chunk.deferrals[0]?.dueInMs, 0);
  });

  it("waits until the bound of lines, not that of refusals", () => {
    const patient = sortRows([waits(0, "busy")], context({ deferredMs: QUEUE_MAX_MS - 1 }));
    assert.equal(patient.answered.length, 0);
    const over = sortRows([waits(0, "busy")], context({ deferredMs: QUEUE_MAX_MS }));
    assert.deepEqual(reasonsOf(over), [[0, "last busy"]]);
  });
});

describe("a row at a site that blocks us", () => {
  const open = (waitMs: number, rest: Partial<DeferralContext> = {}) =>
    context({ parkedMs: (site) => (site === "a.example" ? waitMs : null), ...rest });

  it("comes again when the next trial is due, as often as it takes, without using up its attempts", () => {
    let waited = { deferredMs: 0, attempts: 3 };
    for (let turn = 0; turn < 20; turn++) {
      const [deferral] = sortRows([parked(0)], open(900_000, waited)).deferrals;
      assert.deepEqual([deferral?.dueInMs, deferral?.attempts], [900_000, 3]);
      waited = { deferredMs: waited.deferredMs + 900_000, attempts: 3 };
    }
  });

  it("comes a little later by chance, within its bound, and is answered at that", () => {
    const due = (context: DeferralContext) => sortRows([parked(0)], context).deferrals[0]?.dueInMs;
    assert.equal(due(open(60_000, { random: () => 0.5 })), 63_000);
    assert.equal(due(open(60_000, { random: () => 0.9, deferredMs: QUEUE_MAX_MS - 30_000 })), 30_000);
    const late = open(60_000, { deferredMs: QUEUE_MAX_MS });
    assert.deepEqual(reasonsOf(sortRows([parked(7)], late)), [[7, "last parked"]]);
  });

  it("comes again in a moment where the site has let us in meanwhile", () => {
    const sorted = sortRows([parked(0, "b.example")], open(60_000));
    assert.deepEqual([sorted.deferrals[0]?.dueInMs, sorted.parkedAt], [retryMs, ["b.example"]]);
  });

  it("is in a retry of its site alone, apart from refused rows, up to a number of sites", () => {
    const rows = [parked(0), waits(1, "sender_blocked"), parked(2, "b.example"), parked(3)];
    const { deferrals, parkedAt } = sortRows(rows, open(300_000));
    assert.deepEqual(
      deferrals.map(({ site, rowCount, attempts }) => [site, rowCount, attempts]),
      [
        ["a.example", 2, 0],
        ["a.example", 1, 1],
        ["b.example", 1, 0],
      ],
    );
    assert.deepEqual(parkedAt, ["a.example", "b.example"]);
    const { parkedSites } = LIMITS.breaker;
    const many = Array.from({ length: parkedSites + 10 }, (_, i) => parked(i, `${i}.example`));
    const grouped = sortRows(many, context()).deferrals;
    assert.equal(grouped.length, parkedSites + 1);
    assert.deepEqual([grouped.at(-1)?.site, grouped.at(-1)?.rowCount], ["", 10]);
  });
});

describe("a row that was not asked because our network was down", () => {
  const cutOff = (offset: number, site = "a.example"): RowWithAnswer => {
    const last = () => verified("last cut off");
    return {
      offset,
      answer: { wait: { reason: "our_network", site, retryAfterMs: null, parked: true, last } },
    };
  };
  const { networkRetryMs, networkRetryMaxMs, unreachedMs } = LIMITS.bulk;

  it("waits minutes only where no server was ever reached: port 25 may be closed for good", () => {
    const last = () => verified("last cut off");
    const wait = {
      reason: "our_network",
      site: "",
      retryAfterMs: null,
      parked: true,
      patienceMs: unreachedMs,
      last,
    } as const;
    const row = { offset: 0, answer: { wait } };
    assert.equal(sortRows([row], context({ deferredMs: unreachedMs - 1 })).deferrals.length, 1);
    assert.deepEqual(reasonsOf(sortRows([row], context({ deferredMs: unreachedMs }))), [[0, "last cut off"]]);
  });

  it("comes again at its own bound for the last time, not later, whatever chance adds", () => {
    const last = () => verified("last cut off");
    const wait = { reason: "our_network", site: "", retryAfterMs: null, parked: true, last } as const;
    const bounded = { offset: 0, answer: { wait: { ...wait, patienceMs: unreachedMs } } };
    const unbounded = { offset: 1, answer: { wait } };
    for (const rows of [[bounded], [bounded, unbounded], [unbounded, bounded]])
      for (const random of [() => 0, () => 0.99]) {
        const deferredMs = 0.8 * unreachedMs;
        const { deferrals } = sortRows(rows, context({ deferredMs, random }));
        const ofBounded = deferrals.filter(({ rowSet }) => ((rowSet[0] ?? 0) & 1) === 1);
        assert.deepEqual(
          ofBounded.map(({ dueInMs }) => deferredMs + dueInMs),
          [unreachedMs],
        );
      }
  });

  it("comes again soon, then less often, without using up its attempts, and is answered at the bound", () => {
    const waits: number[] = [];
    let deferredMs = 0;
    for (let turn = 0; turn < 10_000; turn++) {
      const sorted = sortRows([cutOff(0)], context({ deferredMs, attempts: 2 }));
      const [deferral] = sorted.deferrals;
      assert.deepEqual(sorted.parkedAt, []);
      if (deferral === undefined) {
        assert.deepEqual(reasonsOf(sorted), [[0, "last cut off"]]);
        break;
      }
      assert.equal(deferral.attempts, 2);
      waits.push(deferral.dueInMs);
      deferredMs = deferral.deferredMs + deferral.dueInMs;
    }
    assert.deepEqual(waits.slice(0, 6), [
      networkRetryMs,
      networkRetryMs,
      2 * networkRetryMs,
      4 * networkRetryMs,
      8 * networkRetryMs,
      networkRetryMaxMs,
    ]);
    assert.equal(deferredMs, QUEUE_MAX_MS);
    assert.ok(waits.length < 300, `${waits.length} rounds in a day`);
  });

  it("waits no shorter at a site that another process knows to be open, or in a job that has nothing else", () => {
    const rows = Array.from({ length: 50 }, (_, i) => cutOff(i, `${i}.example`));
    const { deferrals, answered } = sortRows(rows, context({ parkedMs: () => 0 }));
    assert.deepEqual(
      deferrals.map(({ site, rowCount, dueInMs }) => [site, rowCount, dueInMs]),
      [["", 50, networkRetryMs]],
    );
    assert.equal(answered.length, 0);
  });
});

describe("rows that wait", () => {
  it("of a site that has many are a retry of their own, the others one together for each reason and time", () => {
    const many = Array.from({ length: retryRowsPerSite }, (_, i) => waits(i, "busy", "big.example"));
    const few = Array.from({ length: 5 }, (_, i) => waits(500 + i, "busy", `${i}.example`));
    const unknown = Array.from({ length: retryRowsPerSite }, (_, i) => waits(600 + i, "busy", ""));
    const refused = [
      waits(700, "greylisted"),
      waits(701, "sender_blocked"),
      waits(702, "greylisted", "b", 7_200_000),
    ];
    const { deferrals } = sortRows([known(999), ...many, ...few, ...unknown, ...refused], context());
    assert.deepEqual(
      deferrals.map(({ reason, site, rowCount }) => [reason, site, rowCount]),
      [
        ["busy", "big.example", retryRowsPerSite],
        ["busy", "", 5 + retryRowsPerSite],
        ["greylisted", "a.example", 1],
        ["sender_blocked", "a.example", 1],
        ["greylisted", "b", 1],
      ],
    );
    assert.ok(deferrals.every(({ egress }) => egress === "egress-1"));
  });

  it("of one site alone are its retry however few they are, those of several sites have none", () => {
    const sitesOf = (rows: RowWithAnswer[]) =>
      sortRows(rows, context()).deferrals.map(({ site, rowCount }) => [site, rowCount]);
    const few = Array.from({ length: retryRowsPerSite - 1 }, (_, i) => waits(i, "greylisted"));
    assert.deepEqual(sitesOf([waits(0, "greylisted")]), [["a.example", 1]]);
    assert.deepEqual(sitesOf([known(900), ...few]), [["a.example", few.length]]);
    assert.deepEqual(sitesOf([...few, waits(900, "greylisted", "b.example")]), [["", few.length + 1]]);
    // A row whose site is not known may be at any.
    assert.deepEqual(sitesOf([...few, waits(900, "greylisted", "")]), [["", few.length + 1]]);
    assert.deepEqual(sitesOf([waits(900, "busy", ""), waits(901, "busy", "")]), [["", 2]]);
    // Beside a retry of a site with many rows.
    const many = Array.from({ length: retryRowsPerSite }, (_, i) => waits(i, "busy", "big.example"));
    assert.deepEqual(sitesOf([...many, waits(900, "busy", "b.example")]), [
      ["big.example", retryRowsPerSite],
      ["b.example", 1],
    ]);
  });

  it("at a server that counts down are few retries, none of them early", () => {
    const rows = Array.from({ length: 600 }, (_, i) =>
      waits(i, "greylisted", "slow.example", (i + 1) * 1_000),
    );
    const { deferrals } = sortRows(rows, context());
    assert.ok(deferrals.length <= 40, `${deferrals.length}`);
    for (const { rowSet, dueInMs } of deferrals)
      for (const row of offsetsOfRowSet(rowSet)) {
        const namedMs = Math.max(retryMs, (row + 1) * 1_000);
        assert.ok(dueInMs >= namedMs && dueInMs <= namedMs * 1.2, `${row}: ${dueInMs}`);
      }
  });

  it("and those that are answered are all rows, each once, whatever comes of them", () => {
    let seed = 7;
    const chance = (of: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % of;
    };
    const reasons = ["busy", "greylisted", "rate_limited_by_server", "sender_blocked"] as const;
    for (let round = 0; round < 300; round++) {
      const chunkRows = 1 + chance(1_000);
      const rows: RowWithAnswer[] = [];
      for (let offset = 0; offset < chunkRows; offset += 1 + chance(3)) {
        const reason = reasons[chance(4)] ?? "busy";
        const site = `${chance(6)}.example`;
        const hintMs = chance(2) === 0 ? null : chance(100_000);
        rows.push(chance(2) === 0 ? known(offset) : waits(offset, reason, site, hintMs));
      }
      const waited = { deferredMs: chance(2 * QUEUE_MAX_MS), attempts: chance(4) };
      const { answered, deferrals } = sortRows(rows, context({ ...waited, chunkRows }));
      const sets = deferrals.map(({ rowSet }) => offsetsOfRowSet(rowSet));
      for (const [i, set] of sets.entries()) assert.equal(set.length, deferrals[i]?.rowCount);
      const all = [...answered.map(({ offset }) => offset), ...sets.flat()].sort((a, b) => a - b);
      assert.deepEqual(
        all,
        rows.map(({ offset }) => offset),
      );
    }
  });
});
