import type { Habit } from "../../check/belief/messages.ts";
import type { Evidence } from "../../check/evidence.ts";
import { askedSite, type SiteDirectory } from "../../check/site.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { EvidenceCache } from "../../store/evidence-cache.ts";

interface Deps {
  beliefs: { habitOf(site: string): Habit | null; readonly size: number };
  sites: Pick<SiteDirectory, "siteOf">;
  /** Our own house: `doubts` is true of evidence that condemns, of a time at which we may have been distrusted. */
  house: { doubts(evidence: Evidence, storedAtMs: number): boolean };
}

/**
 * The cache without what it has of sites that were found to refuse everybody: whoever was refused there before that was
 * known is no longer called unknown to them, as soon as this process knows. And without what condemns by a way on which we
 * were distrusted: from the last look that found us in order on, nobody knows of whom such a refusal spoke.
 */
/** Of these, belief can end at any time: they are looked at each time. */
const DOUBTABLE: ReadonlySet<string | undefined> = new Set(["mailbox_not_found", "mailbox_disabled"]);

export function withoutDisbelieved(cache: EvidenceCache, { beliefs, sites, house }: Deps): EvidenceCache {
  function believed(entry: CacheEntry | undefined, cacheKey: string): CacheEntry | undefined {
    const evidence = entry?.evidence;
    if (entry !== undefined && house.doubts(entry.evidence, entry.storedAt)) return undefined;
    if (evidence?.smtp?.class !== "mailbox_not_found" || beliefs.size === 0) return entry;
    const domain = cacheKey.slice(cacheKey.lastIndexOf("@") + 1);
    return beliefs.habitOf(askedSite(sites, evidence, domain)) === "refuses_all" ? undefined : entry;
  }
  return {
    ...cache,
    peek: (scope, cacheKey) => believed(cache.peek(scope, cacheKey), cacheKey),
    hold(scope, cacheKey) {
      const held = cache.hold(scope, cacheKey);
      return DOUBTABLE.has(held?.entry.evidence.smtp?.class) ? undefined : held;
    },
    look(asker) {
      cache.look({
        scope: asker.scope,
        cacheKey: asker.cacheKey,
        found(entry, redisKey) {
          asker.found(believed(entry, asker.cacheKey), redisKey);
        },
      });
    },
    fetch: async (scope, cacheKey) => believed(await cache.fetch(scope, cacheKey), cacheKey),
    async fetchMany(questions) {
      const entries = await cache.fetchMany(questions);
      return entries.map((entry, i) => believed(entry, questions[i]?.cacheKey ?? ""));
    },
  };
}
