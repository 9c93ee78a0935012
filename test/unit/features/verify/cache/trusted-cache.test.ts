import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import type { EvidenceCache } from "../../../../../src/features/verify/cache/evidence-cache.ts";
import type { EntryWaiter } from "../../../../../src/features/verify/cache/evidence-lookup.ts";
import { withoutDistrusted } from "../../../../../src/features/verify/cache/trusted-cache.ts";
import type { SmtpClass } from "../../../../../src/verification/evidence.ts";
import { siteOf } from "../../../../../src/verification/lists/site.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { testLog } from "../../../../support/log.ts";

const entryOf = (smtpClass: SmtpClass, storedAt: number, hosts = ["mx.one.test"]): CacheEntry => ({
  evidence: evidenceWith({
    mx: { ...evidenceWith().mx, hosts, preferences: [] },
    smtp: smtpWith({ class: smtpClass, mxHost: hosts[0] ?? "" }),
  }),
  storedAt,
  ttlS: 60,
});

describe("the cache", () => {
  it("has nothing that the self-check doubts, whichever method asks", async () => {
    const entries = [entryOf("mailbox_not_found", 1), entryOf("mailbox_not_found", 2)];
    const [doubted, kept] = entries as [CacheEntry, CacheEntry];
    const cache = {
      peek: (_: unknown, cacheKey: string) => (cacheKey === "a@one.test" ? doubted : kept),
      fetch: async (_: unknown, cacheKey: string) => (cacheKey === "a@one.test" ? doubted : kept),
      look: ({ cacheKey, found }: EntryWaiter) => found(cacheKey === "a@one.test" ? doubted : kept, cacheKey),
      fetchMany: async () => [doubted, kept, undefined],
    } as unknown as EvidenceCache;
    const seen = withoutDistrusted(cache, {
      learnedBehaviour: { behaviourOf: () => null, size: 0 },
      sites: { siteOf },
      log: testLog,
      selfCheck: { doubts: (_, storedAtMs) => storedAtMs === 1 },
    });
    assert.deepEqual(
      [seen.peek("probed", "a@one.test"), seen.peek("probed", "b@one.test")],
      [undefined, kept],
    );
    assert.deepEqual(
      [await seen.fetch("probed", "a@one.test"), await seen.fetch("probed", "b@one.test")],
      [undefined, kept],
    );
    const looked: unknown[] = [];
    for (const cacheKey of ["a@one.test", "b@one.test"])
      seen.look({ scope: "probed", cacheKey, found: (...told) => looked.push(told) });
    assert.deepEqual(looked, [
      [undefined, "a@one.test"],
      [kept, "b@one.test"],
    ]);
    const questions = ["a@one.test", "b@one.test", "c@one.test"].map((cacheKey) => ({
      scope: "probed" as const,
      cacheKey,
    }));
    assert.deepEqual(await seen.fetchMany(questions), [undefined, kept, undefined]);
  });

  it("does not have what cannot be judged, and never throws", async () => {
    const odd = { evidence: { finding: { smtp: { class: "mailbox_not_found" } } }, storedAt: 1, ttlS: 60 };
    const entry = odd as unknown as CacheEntry;
    const cache = {
      peek: () => entry,
      fetch: async () => entry,
      look: ({ cacheKey, found }: EntryWaiter) => found(entry, cacheKey),
      fetchMany: async () => [entry],
    } as unknown as EvidenceCache;
    const seen = withoutDistrusted(cache, {
      learnedBehaviour: { behaviourOf: () => null, size: 1 },
      sites: { siteOf },
      log: testLog,
      selfCheck: { doubts: () => false },
    });
    const [scope, cacheKey] = ["probed", "a@one.test"] as const;
    assert.equal(seen.peek(scope, cacheKey), undefined);
    assert.equal(await seen.fetch(scope, cacheKey), undefined);
    assert.deepEqual(await seen.fetchMany([{ scope, cacheKey }]), [undefined]);
    const looked: unknown[] = [];
    seen.look({ scope, cacheKey, found: (...told) => looked.push(told) });
    assert.deepEqual(looked, [[undefined, "a@one.test"]]);
  });

  it("has no mailbox that is unknown to a site that refuses everybody", () => {
    // No host of its own: the site is the domain's.
    const entry = entryOf("mailbox_not_found", 1, []);
    const asked: string[] = [];
    const seen = withoutDistrusted({ peek: () => entry } as unknown as EvidenceCache, {
      learnedBehaviour: {
        behaviourOf(site) {
          asked.push(site);
          return "refuses_all";
        },
        size: 1,
      },
      sites: { siteOf },
      log: testLog,
      selfCheck: { doubts: () => false },
    });
    assert.equal(seen.peek("probed", "a@one.test"), undefined);
    assert.deepEqual(asked, ["one.test"]);
  });
});
