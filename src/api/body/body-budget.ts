/** Memory for bodies in one process. */
export interface BudgetLimits {
  bytes: number;
  /** Maximum share of `bytes` for one account. */
  share: number;
  /** The same for all accounts of an IPv6 site together; absent: no limit of their own. */
  siteShare?: number;
  /** Share of `bytes` that is kept for accounts with at most `littleBytes` each: a few large ones do not keep the others out. */
  keptShare?: number;
  littleBytes?: number;
}

/** The part of a budget that one account uses. */
export interface BodyAccount {
  /** False: nothing was taken, the account's share or the budget is used up. */
  take(bytes: number): boolean;
  /** Takes them in any case: the next `take` finds the limits exceeded. */
  charge(bytes: number): void;
  giveBack(bytes: number): void;
}

/** Bytes of bodies that may be in memory at once; of them an account may hold a share. */
export interface BodyBudget {
  /**
   * @param key the account to charge: a team's share (`shareKey`), or the network of a client's address
   * @param site the site of that address, which has many networks (`clientSite`); null: none
   */
  accountOf(key: string, site?: string | null): BodyAccount;
}

export function createBodyBudget(limits: BudgetLimits): BodyBudget {
  const { bytes: allBytes, share, siteShare = 1, keptShare = 0, littleBytes = 0 } = limits;
  const accountBytes = Math.floor(allBytes * share);
  const siteBytes = Math.floor(allBytes * siteShare);
  const openBytes = Math.floor(allBytes * (1 - keptShare));
  /** Bytes by account and by site, for those that hold some. */
  const held = new Map<string, number>();
  let used = 0;

  const heldBy = (key: string | null) => (key === null ? 0 : (held.get(key) ?? 0));

  function set(key: string | null, bytes: number): void {
    if (key === null) return;
    if (bytes > 0) held.set(key, bytes);
    else held.delete(key);
  }

  function add(key: string, site: string | null, bytes: number): void {
    if (bytes === 0) return;
    used += bytes;
    set(key, heldBy(key) + bytes);
    set(site, heldBy(site) + bytes);
  }

  return {
    accountOf: (key, site = null) => ({
      take(bytes) {
        const own = heldBy(key) + bytes;
        if (own > accountBytes || heldBy(site) + bytes > siteBytes) return false;
        if (used + bytes > (own <= littleBytes ? allBytes : openBytes)) return false;
        add(key, site, bytes);
        return true;
      },
      charge: (bytes) => add(key, site, bytes),
      giveBack: (bytes) => add(key, site, -bytes),
    }),
  };
}
