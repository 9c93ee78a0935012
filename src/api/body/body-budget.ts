/** The part of a budget that one account uses. */
export interface BodyAccount {
  /** False: nothing was taken, the account's share or the whole budget is used up. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** Bytes of request bodies that may be in memory at once; of them an account may hold a share. */
export interface BodyBudget {
  /** @param key the account to charge: a team's id, or the network of a client's address */
  accountOf(key: string): BodyAccount;
}

export function createBodyBudget(limits: { bytes: number; share: number }): BodyBudget {
  const accountBytes = Math.floor(limits.bytes * limits.share);
  /** Bytes by account, for accounts that hold some. */
  const held = new Map<string, number>();
  let used = 0;

  return {
    accountOf(key) {
      return {
        take(bytes) {
          const own = (held.get(key) ?? 0) + bytes;
          if (own > accountBytes || used + bytes > limits.bytes) return false;
          used += bytes;
          held.set(key, own);
          return true;
        },
        giveBack(bytes) {
          if (bytes === 0) return;
          used -= bytes;
          const own = (held.get(key) ?? 0) - bytes;
          if (own > 0) held.set(key, own);
          else held.delete(key);
        },
      };
    },
  };
}
