import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { foldAddress } from "../../../../src/verification/address/address-case.ts";

describe("the case of an address", () => {
  it("is of A to Z alone", () => {
    assert.equal(foldAddress("Some.One+TAG@EXAMPLE.com"), "some.one+tag@example.com");
    for (const other of ["\u00c9", "\u0130", "\u212a", "\u1e9e", "\u03a3"])
      assert.equal(foldAddress(`${other}@example.com`), `${other}@example.com`);
  });
});
