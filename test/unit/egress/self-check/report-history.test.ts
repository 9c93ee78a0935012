import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { attributeToAddress, combineFindings } from "../../../../src/egress/self-check/combine.ts";
import {
  type RouteReport,
  routeReportOf,
  type SelfCheckFinding,
} from "../../../../src/egress/self-check/report.ts";
import { wasDistrustedAt, withHistory } from "../../../../src/egress/self-check/report-history.ts";
import { withRemembered } from "../../../../src/egress/self-check/seen-address.ts";

const EVERY_MS = 600_000;
const T0 = Date.parse("2026-01-01T00:00:00Z");
const { rememberedMs, doubts, jitter, addresses: mostAddresses } = LIMITS.selfCheck;

const dnsbl = (
  result: SelfCheckFinding["result"],
  rest: Partial<SelfCheckFinding> = {},
): SelfCheckFinding => ({
  check: "dnsbl",
  result,
  weight: "trust",
  seen: result,
  advice: "",
  ...rest,
});

/** One look after another, so many milliseconds after the first. */
function looks(...all: [atMs: number, finding: SelfCheckFinding][]): RouteReport {
  let before: RouteReport | null = null;
  for (const [atMs, finding] of all)
    before = withHistory(routeReportOf("direct", null, T0 + atMs, [finding]), before, EVERY_MS);
  return before ?? assert.fail("no look");
}

describe("a failure that withdraws trust", () => {
  it("stands with its words, and tells when it was last seen", () => {
    const report = looks([0, dnsbl("fail", { seen: "listed" })], [EVERY_MS, dnsbl("unknown")]);
    const [finding] = report.findings;
    assert.deepEqual([report.trusted, report.state, finding?.seen], [false, "failing", "listed"]);
    assert.equal(finding?.failedAt, new Date(T0).toISOString());
  });

  it("ends with the address that had it", () => {
    const failing = { failing: ["8.8.8.8"], untold: [] };
    assert.equal(
      looks([0, dnsbl("fail", failing)], [1, dnsbl("unknown", { untold: ["8.8.8.8"] })]).trusted,
      false,
    );
    assert.equal(
      looks([0, dnsbl("fail", failing)], [1, dnsbl("unknown", { untold: ["9.9.9.9"] })]).trusted,
      true,
    );
  });

  it("goes on for as long as it is seen where it cannot be proved", () => {
    const zone = ["8.8.8.8 bl.test"];
    const unproven = dnsbl("unknown", { untold: zone, again: true });
    const report = looks(
      [0, dnsbl("fail", { failing: zone, untold: [] })],
      [rememberedMs - 1, unproven],
      [rememberedMs + EVERY_MS, unproven],
    );
    assert.equal(report.trusted, false);
  });

  it("is not forgotten for another that is seen meanwhile", () => {
    const [one, two] = ["8.8.8.8 one.test", "8.8.8.8 two.test"] as const;
    const report = looks(
      [0, dnsbl("fail", { failing: [one], untold: [] })],
      [1, dnsbl("fail", { failing: [two], untold: [one] })],
      [2, dnsbl("pass", { untold: [one] })],
    );
    assert.deepEqual([report.trusted, report.findings[0]?.failing], [false, [one]]);
  });

  it("of advice or service is told as it is", () => {
    const port: SelfCheckFinding = { ...dnsbl("fail"), check: "port_25", weight: "service" };
    assert.equal(looks([0, port], [1, { ...port, result: "unknown" }]).state, "ok");
  });
});

describe("what was learnt while we were distrusted", () => {
  it("is doubted from the last good look on, until the next", () => {
    const bad = dnsbl("fail");
    const open = looks([0, dnsbl("pass")], [EVERY_MS, bad]);
    assert.deepEqual(open.doubted, [{ from: new Date(T0).toISOString(), to: null }]);
    assert.deepEqual(
      [0, 1, 10 * EVERY_MS].map((ms) => wasDistrustedAt(open, T0 + ms)),
      [false, true, true],
    );
    const over = looks(
      [0, dnsbl("pass")],
      [EVERY_MS, bad],
      [2 * EVERY_MS, bad],
      [3 * EVERY_MS, dnsbl("pass")],
    );
    assert.deepEqual(
      [0, 1, 3 * EVERY_MS, 3 * EVERY_MS + 1].map((ms) => wasDistrustedAt(over, T0 + ms)),
      [false, true, true, false],
    );
  });

  it("is doubted for one time between looks where no good one is known", () => {
    const report = looks([0, dnsbl("fail")]);
    const sinceMs = EVERY_MS * (1 + jitter);
    assert.equal(wasDistrustedAt(report, T0 - sinceMs + 1), true);
    assert.equal(wasDistrustedAt(report, T0 - sinceMs), false);
  });

  it("is remembered for as long as such evidence is kept, in bounded number", () => {
    const all = Array.from({ length: 4 * doubts }, (_, i): [number, SelfCheckFinding] => [
      i * 1_000,
      dnsbl(i % 2 === 0 ? "pass" : "fail"),
    ]);
    const report = looks(...all);
    assert.equal(report.doubted.length, doubts);
    assert.equal(wasDistrustedAt(report, T0 + 1), true);
    const later = looks(...all, [rememberedMs + 4 * doubts * 1_000, dnsbl("pass")]);
    assert.equal(later.doubted.length, 1, "the one that ended with this look");
  });
});

describe("a route behind a pool of addresses", () => {
  const seen = (address: string, result: SelfCheckFinding["result"]) => [
    attributeToAddress(address, { ...dnsbl(result), seen: `${address} ${result}` }),
  ];

  it("fails with any of them, and says which", () => {
    const [finding] = combineFindings([
      seen("8.8.8.8", "pass"),
      seen("9.9.9.9", "fail"),
      seen("7.7.7.7", "unknown"),
    ]);
    assert.deepEqual(
      [finding?.result, finding?.seen, finding?.failing, finding?.untold],
      ["fail", "9.9.9.9 fail", ["9.9.9.9"], ["7.7.7.7"]],
    );
    const [unknown] = combineFindings([seen("8.8.8.8", "pass"), seen("9.9.9.9", "unknown")]);
    assert.deepEqual([unknown?.result, unknown?.untold], ["unknown", ["9.9.9.9"]]);
    assert.equal(combineFindings([seen("8.8.8.8", "skipped"), seen("9.9.9.9", "pass")])[0]?.result, "pass");
  });

  it("is remembered, those of the family that is seen, the newest, for a day", () => {
    const at = (ms: number) => new Date(T0 + ms).toISOString();
    const known = [
      { address: "9.9.9.9", seenAt: at(0) },
      { address: "2606:4700::1", seenAt: at(0) },
      { address: "7.7.7.7", seenAt: at(-rememberedMs) },
    ];
    const now = withRemembered(["8.8.8.8", "8.8.8.8"], known, T0 + 1);
    assert.deepEqual(
      now.map(({ address }) => address),
      ["8.8.8.8", "9.9.9.9"],
    );
    assert.equal(withRemembered([], known, T0 + 1).length, 2, "nobody names any: all that are known");
    const many = Array.from({ length: 100 }, (_, i) => ({ address: `9.9.9.${i}`, seenAt: at(i) }));
    const kept = withRemembered(["8.8.8.8"], many, T0 + 1_000);
    assert.deepEqual([kept.length, kept[1]?.address], [mostAddresses, "9.9.9.99"]);
  });
});
