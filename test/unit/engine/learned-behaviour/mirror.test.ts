import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { BehaviourReport } from "../../../../src/engine/learned-behaviour/messages.ts";
import { createSiteBehaviours } from "../../../../src/engine/learned-behaviour/mirror.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const { quietRun, sites, acceptedEveryMs } = LIMITS.learnedBehaviour;
const SITE = "hoster.test";

describe("a thread whose list has more sites than are counted", () => {
  function thread() {
    const clock = createFakeClock();
    const reports: BehaviourReport[] = [];
    const behaviours = createSiteBehaviours(clock, {
      report: (report) => reports.push(report),
      reportLater: (report) => reports.push(report),
      listen: () => {},
    });
    const refuse = (site: string, i: number) =>
      void behaviours.onRefused(site, { address: `a${i}@d${i}.test`, domain: `d${i}.test` });
    /** Its reports about SITE. */
    const told = () => reports.filter((report) => report.type !== "controlled" && report.site === SITE);
    return { clock, behaviours, refuse, told };
  }

  it("reports a run of refusals, however many other sites accept in between", () => {
    const { clock, behaviours, refuse, told } = thread();
    for (let i = 0; i < quietRun; i++) {
      assert.deepEqual(
        told().filter(({ type }) => type === "refused"),
        [],
      );
      for (let site = 0; site <= sites; site++) behaviours.onAccepted(`s${site}.test`, `s${site}.test`);
      clock.advance(acceptedEveryMs);
      refuse(SITE, i);
    }
    const last = told().at(-1);
    assert.ok(last?.type === "refused");
    assert.deepEqual(
      last.sightings.map(({ domain }) => domain),
      Array.from({ length: quietRun }, (_, i) => `d${i}.test`),
    );
  });

  it("reports once in a while that a site accepts or refuses, however busy other sites are", () => {
    const accepting = thread();
    for (let i = 0; i < 2; i++) {
      accepting.behaviours.onAccepted(SITE, "d0.test");
      for (let site = 0; site <= sites; site++) accepting.refuse(`s${site}.test`, 0);
    }
    assert.equal(accepting.told().length, 1);
    const refusing = thread();
    for (let i = 0; i < 2; i++) {
      refusing.refuse(SITE, i);
      for (let site = 0; site <= sites; site++) refusing.behaviours.onAccepted(`s${site}.test`, "d0.test");
    }
    assert.equal(refusing.told().length, 1);
  });
});
