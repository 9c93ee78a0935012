import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { TeamOverlay } from "../identity/actor.ts";
import { DomainLists } from "./domain-lists.ts";
import type { DomainsCursor, DomainsPage, TeamDomainsReader } from "./team-domains.ts";

/** Pages of the longest list that a team may have, except for the last one, which may be empty. */
const MOST_PAGES = Math.ceil(
  Math.max(LIMITS.keys.blocklistEntriesPerTeam, LIMITS.overrides.perTeam) / LIMITS.keys.domainsPerPage,
);

/** Represents every domain of the team. */
const ALL = "all";

/** The domain lists of one team, for all its credentials. Changed in place: every holder sees the present state. */
export class TeamLists implements TeamOverlay {
  #lists = new DomainLists();
  /** False: a change was noted that has not been read yet; no request may be answered by the lists. */
  isSettled = false;
  /** When the read of all of it began, monotonic. */
  loadedAtMs = Number.NEGATIVE_INFINITY;
  /** Grows when it says something else, or may. */
  version = 0;
  /** Domains to be read. */
  #unread: Set<string> | typeof ALL = ALL;
  reading: Promise<void> | null = null;

  isBlocked(domain: string): boolean {
    return this.#lists.isBlocked(domain);
  }

  isDisposable(domain: string): boolean {
    return this.#lists.isDisposable(domain);
  }

  get size(): number {
    return this.#lists.size;
  }

  /** @param domains empty: any domain may have changed */
  note(domains: readonly string[]): void {
    this.isSettled = false;
    if (domains.length === 0) this.#unread = ALL;
    if (this.#unread === ALL) return;
    for (const domain of domains) this.#unread.add(domain);
    if (this.#unread.size > LIMITS.keys.domainsPerPage) this.#unread = ALL;
  }

  /** Takes the noted domains, to read them now; null: there are none. */
  takeUnread(): readonly string[] | typeof ALL | null {
    const unread = this.#unread;
    this.#unread = new Set();
    if (unread === ALL) return ALL;
    return unread.size > 0 ? [...unread] : null;
  }

  replace(lists: DomainLists): void {
    this.#lists = lists;
    this.version += 1;
  }

  /** `read`: the present entries for `domains`. */
  update(domains: readonly string[], read: Parameters<DomainLists["add"]>[0]): void {
    this.#lists.remove(domains);
    this.#lists.add(read);
    this.version += 1;
  }
}

export interface TeamListsStore {
  /**
   * The team's lists once all noted changes are read; at once if they are.
   * @param usableSinceMs data read before that has to be read again, since it was not proven later
   */
  of(teamId: string, usableSinceMs: number): TeamLists | Promise<TeamLists>;
  /** Resolves when all noted changes are read. Rejects with an error of the read. */
  settled(teamId: string, lists: TeamLists): Promise<void>;
  /** The domains may have been added to the team's lists, or removed. @param domains empty: any domain may have */
  changed(teamId: string, domains: readonly string[]): void;
  /** Forgets all: changes may have been missed. */
  reset(): void;
}

export interface TeamListsDeps {
  domains: TeamDomainsReader;
  clock: Pick<Clock, "monotonic">;
  log: Logger;
  /** The team's lists were evicted: their changes are not followed any more. */
  onEvicted(teamId: string): void;
}

const { cacheEntries, domainsHeld } = LIMITS.keys;

/**
 * The lists of teams, read once and then updated by difference. A note of the change feed names the domains. These are read
 * again in the background as soon as the note arrives, and no request is answered by the lists before that. So the lists
 * are as recent as the feed proves. Notes have names, not entries: their order and repetition do not matter.
 *
 * All of a team's lists are read in pages of LIMITS.keys.domainsPerPage, each of which blocks the event loop for some 1.3
 * ms. Pages need no common snapshot: changes between them are noted, and read after them.
 */
class CachedTeamLists implements TeamListsStore {
  readonly #deps: TeamListsDeps;
  readonly #held: LRUCache<string, TeamLists>;

  constructor(deps: TeamListsDeps) {
    this.#deps = deps;
    this.#held = new LRUCache<string, TeamLists>({
      maxSize: domainsHeld,
      // Small lists count more than their domains: this bounds the teams to `cacheEntries`.
      sizeCalculation: (lists) => Math.max(1 + lists.size, domainsHeld / cacheEntries),
      dispose: (_lists, teamId, reason) => {
        if (reason === "evict") deps.onEvicted(teamId);
      },
    });
  }

  settled(teamId: string, lists: TeamLists): Promise<void> {
    if (lists.reading !== null) return lists.reading;
    const reading = this.#readNoted(teamId, lists);
    if (!lists.isSettled) lists.reading = reading;
    return reading;
  }

  of(teamId: string, usableSinceMs: number): TeamLists | Promise<TeamLists> {
    let lists = this.#held.get(teamId);
    if (lists === undefined) {
      lists = new TeamLists();
      this.#held.set(teamId, lists);
    } else if (lists.loadedAtMs <= usableSinceMs) lists.note([]);
    if (lists.isSettled) return lists;
    const found = lists;
    return this.settled(teamId, found).then(() => found);
  }

  changed(teamId: string, names: readonly string[]): void {
    const lists = this.#held.peek(teamId);
    if (lists === undefined) return;
    lists.note(names);
    this.settled(teamId, lists).catch((error: unknown) =>
      // The next request of the team tries again.
      this.#deps.log.debug({ err: error }, "cannot read what changed of a team's lists"),
    );
  }

  reset(): void {
    this.#held.clear();
  }

  async #readAll(teamId: string): Promise<DomainLists> {
    const lists = new DomainLists();
    let behind: DomainsCursor | null = { blocklist: "", disposable: "" };
    // Ends also where rows come faster than they are read: behind as many as a team may have.
    for (let page = 0; behind !== null && page <= MOST_PAGES; page++) {
      const read: DomainsPage = await this.#deps.domains.page(teamId, behind);
      lists.add(read.lists);
      behind = read.next;
    }
    return lists;
  }

  async #readNoted(teamId: string, lists: TeamLists): Promise<void> {
    for (let unread = lists.takeUnread(); unread !== null; unread = lists.takeUnread()) {
      try {
        if (unread === ALL) {
          lists.loadedAtMs = this.#deps.clock.monotonic();
          lists.replace(await this.#readAll(teamId));
        } else lists.update(unread, await this.#deps.domains.named(teamId, unread));
      } catch (error) {
        lists.note(unread === ALL ? [] : unread);
        lists.reading = null;
        throw error;
      }
    }
    // In the same tick in which nothing was left to read: a later note starts another read.
    lists.reading = null;
    lists.isSettled = true;
    if (this.#held.peek(teamId) !== lists) return;
    // It is added again below, so that the cache computes its new size.
    this.#held.delete(teamId);
    this.#held.set(teamId, lists);
  }
}

export function createTeamLists(deps: TeamListsDeps): TeamListsStore {
  return new CachedTeamLists(deps);
}
