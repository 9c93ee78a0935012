import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createExaminer, type ExaminerDeps } from "../../../../../src/features/verify/answer/examine.ts";
import { createDisposableRows } from "../../../../../src/features/verify/batch/disposable-rows.ts";
import { createRetention } from "../../../../../src/features/verify/cache/retention.ts";
import { type Evidence, type EvidenceParts, evidenceBut } from "../../../../../src/verification/evidence.ts";
import { compileLists, openLists } from "../../../../../src/verification/lists/lists.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const lists = openLists(compileLists());
const keep = createRetention({});
const THROW_AWAY: Evidence = evidenceWith({
  mx: { status: "ok", hosts: ["mx.throw.test"], provider: null, ttlS: 60, fault: null },
  disposable: { listed: true, source: "builtin" },
  smtp: null,
});
const STORED_AT = 1_000;
const ROW = { scope: "probed", address: { domain: "throw.test" } } as const;

function world() {
  const clock = createFakeClock();
  const overlay = { isBlocked: () => false, isDisposable: () => false };
  const examiner = createExaminer({ clock, isPromoted: () => false } as unknown as ExaminerDeps);
  const question = (email: string, probing = true) =>
    examiner.understand(email, false, { teamId: "team_1", probing, overlay });
  const rows = createDisposableRows({ clock, lists, keep, signals: { spf: true, dmarc: false } });
  const learn = (over: Partial<EvidenceParts> = {}) =>
    rows.learn(ROW, { evidence: evidenceBut(THROW_AWAY, over), storedAt: STORED_AT, ttlS: 60 });
  const find = (email: string, probing?: boolean) => rows.find(question(email, probing));
  return { clock, rows, learn, find, question };
}

describe("rows of a throw-away domain", () => {
  it("are answered by what a check found of another, with the lifetime that they would be kept", () => {
    const { learn, find, question } = world();
    assert.equal(find("jane@throw.test"), undefined);
    learn();
    const found = find("joe@throw.test");
    const { address } = question("joe@throw.test");
    assert.ok(found?.entry && address);
    assert.equal(found.cached, false);
    assert.deepEqual(found.entry, {
      evidence: THROW_AWAY,
      storedAt: STORED_AT,
      ttlS: keep("probed", address, THROW_AWAY).ttlS,
    });
    assert.ok(found.entry.ttlS > 0);
  });

  it("are checked where only another role, scope or domain is known", () => {
    const { learn, find } = world();
    learn();
    assert.equal(find("info@throw.test"), undefined);
    assert.equal(find("jane@throw.test", false), undefined);
    assert.equal(find("jane@other.test"), undefined);
    assert.equal(find("no address"), undefined);
    learn({ role: "info" });
    assert.equal(find("info@throw.test")?.entry?.evidence.role, "info");
    assert.equal(find("joe@throw.test")?.entry?.evidence.role, null);
  });

  it("are all answered by what was found last", () => {
    const { learn, find } = world();
    learn();
    assert.equal(find("joe@throw.test")?.entry?.evidence.mx.hosts[0], "mx.throw.test");
    const mx = { ...THROW_AWAY.mx, hosts: ["mx2.throw.test"] };
    learn({ mx });
    assert.deepEqual(find("joe@throw.test")?.entry?.evidence.mx, mx);
  });

  it("are checked again when the known state is as old as a thread keeps a plan, however often used since", () => {
    const { clock, learn, find } = world();
    learn();
    clock.advance(LIMITS.check.planKeptMs - 1);
    assert.ok(find("jane@throw.test"));
    learn();
    clock.advance(1);
    assert.equal(find("jane@throw.test"), undefined);
    learn();
    assert.ok(find("jane@throw.test"));
  });

  it("are not answered by what a name server was too late to be asked about, where it is asked at all", () => {
    const signals = { spf: true, dmarc: true, listedBy: null, parkedAddress: false };
    const mx = (status: "ok" | "implicit" | "no_mx" | "null_mx" | "domain_not_found") => ({
      ...THROW_AWAY.mx,
      status,
    });
    for (const status of ["ok", "implicit", "no_mx"] as const) {
      const { learn, find } = world();
      learn({ mx: mx(status), domain: { ...signals, spf: null } });
      assert.equal(find("jane@throw.test"), undefined, status);
      learn({ mx: mx(status), domain: { ...signals, dmarc: null } });
      assert.equal(find("jane@throw.test")?.entry?.evidence.domain?.spf, true, status);
      learn({ mx: mx(status), domain: { ...signals, spf: null } });
      assert.equal(find("jane@throw.test")?.entry?.evidence.domain?.spf, true, "what is known stays");
    }
    for (const status of ["null_mx", "domain_not_found"] as const) {
      const { learn, find } = world();
      learn({ mx: mx(status), domain: { ...signals, spf: null, dmarc: null } });
      assert.ok(find("jane@throw.test"), `${status}: no signal is asked for`);
    }
  });

  it("are nothing that others are answered by: asked, not listed, or not looked up", () => {
    const { learn, find } = world();
    learn({ disposable: { listed: false, source: "none" } });
    learn({ mx: { ...THROW_AWAY.mx, status: "dns_error", hosts: [] } });
    learn({ smtp: smtpWith() });
    assert.equal(find("jane@throw.test"), undefined);
  });
});
