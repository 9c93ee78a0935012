import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createOverlay } from "../../../src/services/authenticate-overlay.ts";

const label = fc.stringMatching(/^[a-c]{1,2}$/);
const domain = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));

describe("the team's overlay", () => {
  it("blocks a domain, and those below it when it was entered with them", () => {
    const entries = fc.array(fc.record({ domain, includeSubdomains: fc.boolean() }), { maxLength: 8 });
    fc.assert(
      fc.property(entries, domain, (list, asked) => {
        const unique = [...new Map(list.map((entry) => [entry.domain, entry])).values()];
        const expected = unique.some(
          (entry) =>
            asked === entry.domain || (entry.includeSubdomains && asked.endsWith(`.${entry.domain}`)),
        );
        assert.equal(createOverlay(unique).isBlocked(asked), expected);
      }),
    );
  });

  it("blocks nothing without entries", () => {
    assert.equal(createOverlay([]).isBlocked("example.com"), false);
  });
});
