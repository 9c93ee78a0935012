import type { LearnedBehaviour } from "../../../engine/learned-behaviour/messages.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import { probedSiteOf, type SiteDirectory } from "../../../verification/lists/site.ts";
import type { CacheEntry } from "./cache-entry.ts";
import type { EvidenceCache } from "./evidence-cache.ts";

interface Deps {
  learnedBehaviour: { behaviourOf(site: string): LearnedBehaviour | null; readonly size: number };
  sites: Pick<SiteDirectory, "siteOf">;
  /** `doubts`: whether evidence condemns an address, and dates from a time when servers may have distrusted us. */
  selfCheck: { doubts(evidence: Evidence, storedAtMs: number): boolean };
  log: Logger;
}

/**
 * The cache without evidence that is not trusted any more. First, unknown-recipient refusals by a site that was later found to
 * refuse every address, as soon as this process knows that. Second, refusals over an egress route that servers distrusted, made since
 * the last self-check in which that route was in order: they may have been about us.
 */
export function withoutDistrusted(
  cache: EvidenceCache,
  { learnedBehaviour, sites, selfCheck, log }: Deps,
): EvidenceCache {
  function isTrusted({ evidence, storedAt }: CacheEntry, address: string): boolean {
    if (selfCheck.doubts(evidence, storedAt)) return false;
    if (evidence.finding.smtp?.class !== "mailbox_not_found" || learnedBehaviour.size === 0) return true;
    const domain = address.slice(address.lastIndexOf("@") + 1);
    return learnedBehaviour.behaviourOf(probedSiteOf(sites, evidence, domain)) !== "refuses_all";
  }
  /** Never throws: an entry that cannot be judged is not trusted, and its address is checked again. */
  function trusted<E extends CacheEntry>(entry: E | undefined, address: string): E | undefined {
    if (entry === undefined) return undefined;
    try {
      return isTrusted(entry, address) ? entry : undefined;
    } catch (error) {
      log.error({ err: error }, "an entry of the evidence cache could not be judged");
      return undefined;
    }
  }
  return {
    ...cache,
    peek: (scope, cacheKey) => trusted(cache.peek(scope, cacheKey), cacheKey),
    look(asker) {
      cache.look({
        scope: asker.scope,
        cacheKey: asker.cacheKey,
        found(entry, redisKey) {
          asker.found(trusted(entry, asker.cacheKey), redisKey);
        },
      });
    },
    fetch: async (scope, cacheKey) => trusted(await cache.fetch(scope, cacheKey), cacheKey),
    async fetchMany(questions) {
      const entries = await cache.fetchMany(questions);
      return entries.map((entry, i) => trusted(entry, questions[i]?.cacheKey ?? ""));
    },
  };
}
