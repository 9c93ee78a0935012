import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { domainOf } from "../../../../src/verification/address/domain-of.ts";
import fc from "../../../support/properties.ts";

const domain = fc.constantFrom("a.test", "b.a.test", "test", "xa.test", "");
const local = fc.constantFrom("a", "a.test", '"a@b.a.test"', "", "@");

describe("the domain of an address", () => {
  it("is what stands behind its last @, whatever was asked for before", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(local, domain), { maxLength: 30 }), (asked) => {
        for (const [name, expected] of asked) assert.equal(domainOf(`${name}@${expected}`), expected);
      }),
    );
  });

  it("is all of what has no @", () => {
    assert.equal(domainOf("u@a.test"), "a.test");
    assert.equal(domainOf("a.test"), "a.test");
    assert.equal(domainOf("xa.test"), "xa.test");
  });
});
