/** The team whose turn it uses, and the site where it asks. */
interface QueuedRecheck {
  teamId: string;
  site: string;
}

/**
 * Due rechecks, in turn: one of each team, and within a team one of each site, whatever their numbers. The search for the
 * next skips sites without room, of which there are few, and teams that have no other.
 */
export class RecheckQueue<T extends QueuedRecheck> {
  readonly #teams = new Map<string, Map<string, Set<T>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(one: T): void {
    const sites = this.#teams.get(one.teamId) ?? new Map<string, Set<T>>();
    const those = sites.get(one.site) ?? new Set<T>();
    this.#teams.set(one.teamId, sites);
    sites.set(one.site, those);
    if (!those.has(one)) this.#size += 1;
    those.add(one);
  }

  remove(one: T): void {
    const sites = this.#teams.get(one.teamId);
    const those = sites?.get(one.site);
    if (sites === undefined || !those?.delete(one)) return;
    this.#size -= 1;
    if (those.size === 0) sites.delete(one.site);
    if (sites.size === 0) this.#teams.delete(one.teamId);
  }

  /** The next at a site that has room, and no longer here; null: there is none. */
  take(hasRoom: (site: string) => boolean): T | null {
    for (const [teamId, sites] of this.#teams)
      for (const [site, those] of sites) {
        if (!hasRoom(site)) continue;
        const [one] = those;
        if (one === undefined) continue;
        this.remove(one);
        // Both go behind the others.
        if (those.size > 0) {
          sites.delete(site);
          sites.set(site, those);
        }
        if (sites.size > 0) {
          this.#teams.delete(teamId);
          this.#teams.set(teamId, sites);
        }
        return one;
      }
    return null;
  }

  clear(): void {
    this.#teams.clear();
    this.#size = 0;
  }
}
