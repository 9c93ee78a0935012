import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { DomainLists } from "../../../../src/features/auth/domain-lists.ts";
import type { TeamDomains } from "../../../../src/features/auth/team-domains.ts";
import fc from "../../../support/properties.ts";

const label = fc.stringMatching(/^[a-c]{1,2}$/);
const domain = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));

function listsOf(domains: TeamDomains): DomainLists {
  const lists = new DomainLists();
  lists.add(domains);
  return lists;
}

describe("a team's lists as questions", () => {
  it("blocks a domain, and those below it when it was entered with them", () => {
    const entries = fc.array(fc.record({ domain, includeSubdomains: fc.boolean() }), { maxLength: 8 });
    fc.assert(
      fc.property(entries, domain, (list, asked) => {
        const unique = [...new Map(list.map((entry) => [entry.domain, entry])).values()];
        const expected = unique.some(
          (entry) =>
            asked === entry.domain || (entry.includeSubdomains && asked.endsWith(`.${entry.domain}`)),
        );
        assert.equal(listsOf({ blocklist: unique, disposable: [] }).isBlocked(asked), expected);
      }),
    );
  });

  it("calls an overridden domain disposable, and those below it, and blocks neither", () => {
    fc.assert(
      fc.property(fc.array(domain, { maxLength: 8 }), domain, (list, asked) => {
        const overlay = listsOf({ blocklist: [], disposable: list });
        const expected = list.some((entry) => asked === entry || asked.endsWith(`.${entry}`));
        assert.equal(overlay.isDisposable(asked), expected);
        assert.equal(overlay.isBlocked(asked), false);
      }),
    );
  });

  it("forgets what is removed, on both lists, and nothing else", () => {
    const lists = listsOf({
      blocklist: ["a.test", "b.test"].map((name) => ({ domain: name, includeSubdomains: true })),
      disposable: ["a.test", "c.test"],
    });
    lists.remove(["a.test", "unknown.test"]);
    assert.equal(lists.size, 2);
    assert.deepEqual([lists.isBlocked("a.test"), lists.isBlocked("x.b.test")], [false, true]);
    assert.deepEqual([lists.isDisposable("a.test"), lists.isDisposable("c.test")], [false, true]);
  });

  it("takes no more than a team may have", () => {
    const { blocklistEntriesPerTeam } = LIMITS.keys;
    const names = Array.from({ length: blocklistEntriesPerTeam + 1 }, (_, i) => `d${i}.test`);
    const lists = listsOf({
      blocklist: names.map((name) => ({ domain: name, includeSubdomains: true })),
      disposable: names,
    });
    assert.equal(lists.size, blocklistEntriesPerTeam + LIMITS.overrides.perTeam);
  });
});
