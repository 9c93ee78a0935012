import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fleetFormula } from "../../../../scripts/capacity/formula.ts";
import { type Measured, TOLERANCE } from "../../../../scripts/capacity/measure/measured.ts";
import {
  countsOf,
  exists,
  type SiteList,
  siteFile,
  siteInternet,
} from "../../../../scripts/capacity/measure/site-list.ts";
import { parseScenario } from "../../../../scripts/capacity/scenario.ts";

const file = new URL("../../../../scripts/capacity/measured.json", import.meta.url);
const { runs } = JSON.parse(readFileSync(file, "utf8")) as { runs: { configurations: Measured[] }[] };
const LEAST = 3;

describe("what was measured on the real service", () => {
  it("is there", () => {
    const names = new Set(runs.flatMap(({ configurations }) => configurations.map(({ name }) => name)));
    assert.ok(names.size >= LEAST, `${names.size} configurations`);
  });

  for (const [run, { configurations }] of runs.entries())
    for (const { name, scenario, measuredPerS } of configurations)
      it(`comes out of the formula within 15 %, run ${run + 1}: ${name}`, () => {
        const { perS } = fleetFormula(parseScenario(scenario));
        const ratio = perS / measuredPerS;
        assert.ok(Math.abs(ratio - 1) <= TOLERANCE, `predicted ${perS}, measured ${measuredPerS}: ${ratio}`);
      });
});

describe("a list for sites", () => {
  const list: SiteList = {
    ...{ run: 5, rows: 3_000, catchAllEvery: 3, missingEvery: 10 },
    site: { sites: 6, rowsPerDomain: 50 },
  };

  it("has what it says it has, at servers that are in its zone", () => {
    const rows = Buffer.concat([...siteFile(list)])
      .toString()
      .trim()
      .split("\r\n")
      .slice(1);
    const { zone } = siteInternet([list]);
    let refused = 0;
    const perHost = new Map<string, number>();
    for (const row of rows) {
      const [local = "", domain = ""] = row.split("@");
      const [, host = ""] = zone.get(domain)?.mx?.[0] ?? [];
      assert.ok(zone.get(host)?.a, row);
      perHost.set(host, (perHost.get(host) ?? 0) + 1);
      if (!exists(local, domain)) refused += 1;
    }
    assert.equal(rows.length, 3_000);
    assert.equal(new Set(rows).size, 3_000);
    const counts = countsOf(list);
    assert.equal(refused, counts.verdicts.invalid);
    assert.equal(counts.refused, refused / 3_000);
    assert.deepEqual([...perHost.values()], [500, 500, 500, 500, 500, 500]);
    assert.ok(counts.catchAll > 0.3 && counts.catchAll < 0.45, `${counts.catchAll}`);
  });
});
