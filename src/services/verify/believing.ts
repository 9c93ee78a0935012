import type { Habit } from "../../check/belief/messages.ts";
import type { SiteDirectory } from "../../check/site.ts";
import type { CacheEntry, EvidenceCache } from "../../store/evidence-cache.ts";

interface Deps {
  beliefs: { habitOf(site: string): Habit | null; readonly size: number };
  sites: Pick<SiteDirectory, "siteOf">;
}

/**
 * The cache without what it has of sites that were found to refuse everybody: whoever was refused there before that was
 * known is no longer called unknown to them, as soon as this process knows.
 */
export function withoutDisbelieved(cache: EvidenceCache, { beliefs, sites }: Deps): EvidenceCache {
  function believed(entry: CacheEntry | undefined, cacheKey: string): CacheEntry | undefined {
    const evidence = entry?.evidence;
    if (evidence?.smtp?.class !== "mailbox_not_found" || beliefs.size === 0) return entry;
    const domain = cacheKey.slice(cacheKey.lastIndexOf("@") + 1);
    return beliefs.habitOf(sites.siteOf(evidence.mx.hosts, domain).site) === "refuses_all"
      ? undefined
      : entry;
  }
  return {
    ...cache,
    peek: (scope, cacheKey) => believed(cache.peek(scope, cacheKey), cacheKey),
    fetch: async (scope, cacheKey) => believed(await cache.fetch(scope, cacheKey), cacheKey),
    async fetchMany(questions) {
      const entries = await cache.fetchMany(questions);
      return entries.map((entry, i) => believed(entry, questions[i]?.cacheKey ?? ""));
    },
  };
}
