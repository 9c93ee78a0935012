import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { randomCase, randomId } from "../../../src/dns/random.ts";
import fc from "../../support/properties.ts";

describe("what an attacker off the path has to guess", () => {
  it("is an id that no other question has", () => {
    const free = new Set([7, 65_535]);
    for (let i = 0; i < 3; i++) assert.ok(free.has(randomId((id) => !free.has(id))));
  });

  it("is the case of each letter, and of nothing but letters", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9._-]{0,253}$/), (name) => {
        assert.equal(randomCase(name).toLowerCase(), name);
      }),
    );
    const name = "abcdefghijklmnopqrstuvwxyz-0123456789.abcdefghijklmnopqrstuvwxyz";
    const drawn = Array.from({ length: 200 }, () => randomCase(name));
    for (let at = 0; at < name.length; at++) {
      const seen = new Set(drawn.map((mixed) => mixed[at]));
      assert.equal(seen.size, /[a-z]/.test(name[at] ?? "") ? 2 : 1, `position ${at}`);
    }
  });
});
