import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOverlay } from "../../../../src/services/authenticate/overlay.ts";
import fc from "../../../support/properties.ts";

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
        assert.equal(createOverlay({ blocklist: unique, disposable: [] }).isBlocked(asked), expected);
      }),
    );
  });

  it("calls an overridden domain disposable, and those below it, and blocks neither", () => {
    fc.assert(
      fc.property(fc.array(domain, { maxLength: 8 }), domain, (list, asked) => {
        const overlay = createOverlay({ blocklist: [], disposable: list });
        const expected = list.some((entry) => asked === entry || asked.endsWith(`.${entry}`));
        assert.equal(overlay.isDisposable(asked), expected);
        assert.equal(overlay.isBlocked(asked), false);
      }),
    );
  });

  it("says nothing of any domain without entries, and is then one for all teams", () => {
    const overlay = createOverlay({ blocklist: [], disposable: [] });
    assert.deepEqual([overlay.isBlocked("example.com"), overlay.isDisposable("example.com")], [false, false]);
    assert.equal(createOverlay({ blocklist: [], disposable: [] }), overlay);
  });
});
