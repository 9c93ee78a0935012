import type { LearnedBehaviour } from "../../../engine/learned-behaviour/messages.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import { probedSiteOf, type SiteDirectory } from "../../../verification/lists/site.ts";
import type { CacheEntry } from "./cache-entry.ts";
import type { EvidenceCache } from "./evidence-cache.ts";

interface Deps {
  learnedBehaviour: { behaviourOf(site: string): LearnedBehaviour | null; readonly size: number };
  sites: Pick<SiteDirectory, "siteOf">;
  /** Our own house: `doubts` is true of evidence that condemns, of a time at which we may have been distrusted. */
  selfCheck: { doubts(evidence: Evidence, storedAtMs: number): boolean };
  log: Logger;
}

/** Of these, belief can end at any time: they are looked at each time. */
const DOUBTABLE_REASONS: ReadonlySet<string | undefined> = new Set(["mailbox_not_found", "mailbox_disabled"]);

/**
 * The cache without what it has of sites that were found to refuse everybody: whoever was refused there before that was
 * known is no longer called unknown to them, as soon as this process knows. And without what condemns by a way on which we
 * were distrusted: from the last look that found us in order on, nobody knows of whom such a refusal spoke.
 */
export function withoutDistrusted(
  cache: EvidenceCache,
  { learnedBehaviour: beliefs, sites, selfCheck: house, log }: Deps,
): EvidenceCache {
  function isBelieved({ evidence, storedAt }: CacheEntry, address: string): boolean {
    if (house.doubts(evidence, storedAt)) return false;
    if (evidence.finding.smtp?.class !== "mailbox_not_found" || beliefs.size === 0) return true;
    const domain = address.slice(address.lastIndexOf("@") + 1);
    return beliefs.behaviourOf(probedSiteOf(sites, evidence, domain)) !== "refuses_all";
  }
  /** Never throws: of what cannot be judged nothing is believed, and its address is asked about anew. */
  function believed<E extends CacheEntry>(entry: E | undefined, address: string): E | undefined {
    if (entry === undefined) return undefined;
    try {
      return isBelieved(entry, address) ? entry : undefined;
    } catch (error) {
      log.error({ err: error }, "an entry of the evidence cache could not be judged");
      return undefined;
    }
  }
  return {
    ...cache,
    peek: (scope, cacheKey) => believed(cache.peek(scope, cacheKey), cacheKey),
    hold(scope, cacheKey) {
      const held = cache.hold(scope, cacheKey);
      return DOUBTABLE_REASONS.has(held?.entry.evidence.finding.smtp?.class) ? undefined : held;
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
