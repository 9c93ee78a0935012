import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InvalidRun } from "../../../bench/report/figures.ts";
import type { Measured } from "../../../bench/report/report.ts";
import type { Section } from "../../../bench/report/table.ts";
import { totalTarget } from "../../../bench/report/total.ts";
import { chosenSections, SECTIONS, type SectionEntry } from "../../../bench/sections.ts";
import type { BenchContext } from "../../../bench/setup/context.ts";
import { runSections } from "../../../bench/setup/run.ts";

/** Seconds that a run takes besides its sections, on two cores. */
const AROUND_S = 12;

const context = { quick: true } as BenchContext;

const section = (...ids: string[]): Section => ({
  title: "made up",
  configuration: [],
  unit: "rows",
  lines: [],
  notes: [],
  targets: ids.map((id) => ({ id, what: id, unit: "", figure: 1 })),
});

const entry = (benches: SectionEntry["benches"], promises: string[]): SectionEntry => ({
  benches,
  promises,
  allowanceS: { full: 10, quick: 4 },
  needsObjects: false,
  onDemand: false,
});

async function run(sections: Record<string, SectionEntry>): Promise<Measured[]> {
  const seen: Measured[] = [];
  const all = await runSections(Object.entries(sections), {
    context,
    fresh: async (name) => `postgres://${name}`,
    onDone: (measured) => seen.push(measured),
  });
  assert.deepEqual(seen, all);
  return all;
}

describe("the sections of the bench", () => {
  it("fit into what a whole run may take", () => {
    for (const kind of ["full", "quick"] as const) {
      const sum = chosenSections([]).reduce((total, [, { allowanceS }]) => total + allowanceS[kind], 0);
      const { atMost = 0 } = totalTarget(0, kind === "quick").targets[0] ?? {};
      assert.ok(sum + AROUND_S <= atMost, `${kind}: ${sum} s of ${atMost} s`);
    }
  });

  it("are chosen by name, once; on demand only by name", () => {
    assert.deepEqual(
      chosenSections(["slow-site", "http", "http"]).map(([name]) => name),
      ["slow-site", "http"],
    );
    assert.ok(chosenSections([]).every(([, { onDemand }]) => !onDemand));
    assert.ok(Object.values(SECTIONS).some(({ onDemand }) => onDemand));
    assert.throws(() => chosenSections(["htp"]), /there is no section htp: http, /);
  });

  it("promise no target twice", () => {
    const promised = Object.values(SECTIONS).flatMap(({ promises }) => promises);
    assert.equal(new Set(promised).size, promised.length);
  });
});

describe("a run of sections", () => {
  it("gives each bench a clean state and its share of the time", async () => {
    const seen: unknown[] = [];
    const bench = async ({ databaseUrl, allowanceMs }: BenchContext) => {
      seen.push([databaseUrl, allowanceMs]);
      return section();
    };
    await run({ two: entry([bench, bench], []) });
    assert.deepEqual(seen, [
      ["postgres://two", 2_000],
      ["postgres://two", 2_000],
    ]);
  });

  it("goes on after one that fails, whose targets are void", async () => {
    const failing = async () => {
      throw new Error("no luck\nwith details");
    };
    const [bad, good] = await run({
      bad: entry([failing], ["bad.cpu"]),
      good: entry([async () => section("good.cpu")], ["good.cpu"]),
    });
    assert.equal(bad?.failure, "no luck\nwith details");
    assert.equal(bad?.isInvalid, false);
    assert.deepEqual(bad?.targets, [
      { id: "bad.cpu", what: "not measured", unit: "", figure: null, reason: "no luck" },
    ]);
    assert.deepEqual(
      good?.targets.map(({ id, figure }) => [id, figure]),
      [["good.cpu", 1]],
    );
  });

  it("knows invalid runs from others, and passes no failure over that promised nothing", async () => {
    const wrong = async () => {
      throw new InvalidRun("3 × wrong verdict");
    };
    const [measured] = await run({ bare: entry([wrong], []) });
    assert.equal(measured?.isInvalid, true);
    assert.deepEqual(
      measured?.targets.map(({ id, figure, reason }) => [id, figure, reason]),
      [["bare", null, "3 × wrong verdict"]],
    );
  });

  it("makes void what a section forgot to tell", async () => {
    const benches = [async () => section("a"), async () => section("b")];
    const all = await run({ forgetful: entry(benches, ["a", "b", "c"]) });
    const targets = all.flatMap((measured) => measured.targets);
    assert.deepEqual(
      targets.map(({ id, figure }) => [id, figure]),
      [
        ["a", 1],
        ["b", 1],
        ["c", null],
      ],
    );
  });
});
