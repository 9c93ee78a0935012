import type { CheckPool } from "../../check/pool.ts";
import type { AskedRow } from "./batch-work.ts";
import type { FullSites } from "./full-sites.ts";

/**
 * Rows of domains that nothing is known of, each with more rows than its site is likely to have room for. Of those of a list that is
 * sorted by domain nearly all would go to Redis and to a thread, to hear that their site is full: at its start, all its rows.
 * So a thread is asked first where they wait, one question for all of a domain, and what the site has no room for leaves by
 * itself (`FullSites`). The thread looks for the domain's servers then, as for the first row of it. A site has room for what
 * fills its connections twice in each thread, as shipped 200 rows: with several threads and pieces of 500 rows only those count
 * that are shaped smaller.
 */
export interface NewDomains {
  /** @returns rows that need not wait, and others by their domain, which is to be met first */
  cut(rows: readonly AskedRow[]): { met: readonly AskedRow[]; groups: AskedRow[][] };
  /** Resolves when a thread has said where rows of the domain wait, or nobody can. Never rejects. */
  meet(domain: string): Promise<void>;
}

export function createNewDomains(
  pool: Pick<CheckPool, "queueSiteOf">,
  fullSites: Pick<FullSites, "isNew" | "learn">,
): NewDomains {
  /** At most one for each domain of which rows have their places. */
  const meetings = new Map<string, Promise<void>>();

  async function ask(domain: string): Promise<void> {
    fullSites.learn(domain, await pool.queueSiteOf(domain));
    meetings.delete(domain);
  }

  function newAmong(rows: readonly AskedRow[]): Map<string, AskedRow[]> {
    const groups = new Map<string, AskedRow[]>();
    for (const row of rows) {
      if (row.scope !== "probed") continue;
      const group = groups.get(row.address.domain);
      if (group === undefined) groups.set(row.address.domain, [row]);
      else group.push(row);
    }
    for (const [domain, { length }] of groups)
      if (!meetings.has(domain) && !fullSites.isNew(domain, length)) groups.delete(domain);
    return groups;
  }

  return {
    cut(rows) {
      const groups = newAmong(rows);
      if (groups.size === 0) return { met: rows, groups: [] };
      const met = rows.filter(({ scope, address }) => scope !== "probed" || !groups.has(address.domain));
      return { met, groups: [...groups.values()] };
    },
    meet(domain) {
      const known = meetings.get(domain);
      if (known !== undefined) return known;
      const meeting = ask(domain);
      meetings.set(domain, meeting);
      return meeting;
    },
  };
}
