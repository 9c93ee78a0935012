import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOutcomesLookup } from "../../../src/bulk/row-outcomes.ts";
import { DomainsByBytes } from "../../../src/check/address/domain-bytes.ts";
import type { TeamOverlay } from "../../../src/services/actor.ts";
import type { RowTemplate } from "../../../src/services/verify/draw-rows.ts";
import { createExaminer, type ExaminerDeps } from "../../../src/services/verify/examine.ts";

function overlayOf(...blocked: string[]): TeamOverlay {
  return { isBlocked: (domain) => blocked.includes(domain), isDisposable: () => false };
}

function setUp() {
  const promoted = { domains: new Set<string>(), asOf: 1 };
  const asked: string[] = [];
  const isPromoted = (domain: string) => {
    asked.push(domain);
    return promoted.domains.has(domain);
  };
  const examiner = createExaminer({ isPromoted } as unknown as ExaminerDeps);
  const domains = new DomainsByBytes();
  const of = createOutcomesLookup(domains, examiner, () => promoted.asOf);
  const at = (domain: string, overlay: TeamOverlay, probing = true) => {
    const bytes = Buffer.from(domain);
    return of({ teamId: "team", probing, overlay }).outcomeOf(domains.find(bytes, 0, bytes.length));
  };
  const keep = (domain: string, overlay: TeamOverlay, template: RowTemplate) => {
    const bytes = Buffer.from(domain);
    const { standing } = at(domain, overlay);
    of({ teamId: "team", probing: true, overlay }).remember(
      domains.find(bytes, 0, bytes.length),
      standing,
      template,
    );
  };
  return { promoted, asked, at, keep };
}

describe("what rows of a domain come to", () => {
  it("is asked for once, whoever reads the next rows of the same asker", () => {
    const { asked, at } = setUp();
    const overlay = overlayOf("one.test");
    for (let task = 0; task < 3; task++)
      assert.deepEqual(at("one.test", overlay).standing, {
        blocked: true,
        overridden: false,
        scope: "probed",
      });
    assert.deepEqual(asked, ["one.test"]);
  });

  it("is what the operator says now", () => {
    const { promoted, at } = setUp();
    const overlay = overlayOf();
    assert.equal(at("one.test", overlay).standing.overridden, false);
    promoted.domains.add("one.test");
    promoted.asOf += 1;
    assert.equal(at("one.test", overlay).standing.overridden, true);
    promoted.domains.clear();
    promoted.asOf += 1;
    assert.equal(at("one.test", overlay).standing.overridden, false);
  });

  it("is each team's own, by turns, and each scope's", () => {
    const { at } = setUp();
    const [blocking, other] = [overlayOf("one.test"), overlayOf()];
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(at("one.test", blocking).standing.blocked, true);
      assert.equal(at("one.test", other).standing.blocked, false);
      assert.equal(at("one.test", other, false).standing.scope, "unprobed");
      assert.equal(at("one.test", other).standing.scope, "probed");
    }
  });

  it("has the template that was kept for it, and for no other domain, asker, or time", () => {
    const { promoted, at, keep } = setUp();
    const overlay = overlayOf("one.test", "two.test");
    const template = {} as RowTemplate;
    keep("one.test", overlay, template);
    assert.equal(at("one.test", overlay).template, template);
    assert.equal(at("two.test", overlay).template, null);
    assert.equal(at("one.test", overlayOf("one.test")).template, null);
    keep("one.test", overlay, template);
    promoted.asOf += 1;
    assert.equal(at("one.test", overlay).template, null);
  });

  it("is right for more templates than are kept", () => {
    const { at, keep } = setUp();
    const names = Array.from({ length: 200 }, (_, i) => `d${i}.test`);
    const overlay = overlayOf(...names);
    const templates = names.map(() => ({}) as RowTemplate);
    for (const [i, name] of names.entries()) keep(name, overlay, templates[i] as RowTemplate);
    const found = names.map((name) => at(name, overlay).template);
    assert.equal(found[0], null);
    assert.equal(found.at(-1), templates.at(-1));
    for (const [i, one] of found.entries()) assert.ok(one === null || one === templates[i]);
  });
});
