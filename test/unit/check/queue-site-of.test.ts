import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDomainSignals } from "../../../src/check/domain-signals.ts";
import { engine, OK } from "../../support/check-engine.ts";
import { engineBy } from "../../support/engine-by.ts";

describe("where rows of a domain wait", () => {
  const hosts = { "bare.test": [], "customer.test": ["mx.provider.test"] };

  it("is the site of its best exchanger, and nobody is asked about any of them", async () => {
    const { lineOf, asked } = engine(
      () => OK,
      () => {},
      { hosts },
    );
    assert.equal(await lineOf("customer.test"), "provider.test");
    assert.deepEqual(asked, []);
  });

  it("is nowhere as long as their way is not the usual one", async () => {
    const unusual = engine(
      () => OK,
      () => {},
      { hosts, general: true },
    );
    assert.equal(await unusual.lineOf("customer.test"), null);
    const nowhere = engine(
      () => OK,
      () => {},
      { hosts, nowhere: ["mx.provider.test"] },
    );
    assert.equal(await nowhere.lineOf("customer.test"), null);
  });

  it("is said by an engine that adds signals of domains too, without these", async () => {
    const signals = { of: () => assert.fail("not asked for") };
    const bare = { ...engineBy(() => null), queueSiteOf: async () => "mx.test" };
    assert.equal(await withDomainSignals(bare, signals as never).queueSiteOf("one.test"), "mx.test");
  });
});
