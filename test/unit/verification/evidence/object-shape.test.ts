import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDomainSignals, withDomainSignals } from "../../../../src/engine/domain-signals.ts";
import { OutcomePacker, readOutcomes } from "../../../../src/verification/evidence/outcomes.ts";
import { type Evidence, evidenceBut } from "../../../../src/verification/evidence.ts";
import { checkWith, engineBy } from "../../../support/engine-by.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { haveSameShape, shapesOf } from "../../../support/same-shape.ts";

const DOMAIN = { spf: true, dmarc: false, listedBy: null, parkedAddress: false };
/** Number of objects to compare: V8 gives spread objects a shape of their own only from about the tenth on. */
const ROWS = 100;
/** The most shapes allowed: V8 may give the first objects others. Far fewer than ROWS. */
const SHAPES = 3;

describe("the shape of evidence", () => {
  it("is what the test can tell from another one", () => {
    assert.equal(haveSameShape({ a: 1 }, { a: 2 }), true);
    assert.equal(haveSameShape({ a: 1 }, { b: 1 }), false);
  });

  it("is the same for rows whose domain's signals came later", async () => {
    const resolver = {
      mx: async () => ({ status: "no_data", ttlS: 60, proven: true }) as const,
      a: async () => ({ status: "no_data", ttlS: 60, proven: true }) as const,
      txt: async () => ({ status: "no_data", ttlS: 60, proven: true }) as const,
    };
    const config = { spf: true, dmarc: false, blocklistZones: [] };
    const signals = createDomainSignals({ resolver, clock: createFakeClock(), config } as never);
    const engine = withDomainSignals(
      engineBy(async () => evidenceWith()),
      signals,
    );
    const control = { mode: "patient", cancelled: () => false, onSite: () => {} } as const;
    const found = await Promise.all(
      Array.from({ length: ROWS }, (_, i) => checkWith(engine, `jane@d${i}.example.com`, "probed", control)),
    );
    const evidence = found as Evidence[];
    assert.ok(evidence.every(({ domain }) => domain !== undefined));
    assert.ok(shapesOf(evidence) <= SHAPES);
  });

  it("is the same for rows that come from a thread, the like and the unlike", () => {
    const packer = new OutcomePacker();
    const smtp = smtpWith();
    const parts = evidenceWith();
    for (let latencyMs = 0; latencyMs < ROWS; latencyMs++)
      packer.add(evidenceBut(parts, { role: "info", smtp: { ...smtp, latencyMs }, domain: DOMAIN }));
    packer.add(evidenceBut(parts, { smtp: { ...smtp, code: 251 }, domain: DOMAIN }));
    const evidence = readOutcomes(packer.take()) as Evidence[];
    assert.equal(evidence.length, ROWS + 1);
    assert.ok(shapesOf(evidence) <= SHAPES);
    assert.ok(shapesOf(evidence.map(({ smtp: read }) => read ?? {})) <= SHAPES);
  });
});
