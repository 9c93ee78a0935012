import type { QuotaLedger } from "../../src/features/quota/quota-ledger.ts";

/** Leases for many of a ledger that has them one by one, and passes over nobody. */
export function leaseTogetherBy(lease: QuotaLedger["lease"]): QuotaLedger["leaseTogether"] {
  return async (asks) => {
    const granting = asks.map(async ({ id, teamId, ...ask }) => [id, await lease(id, teamId, ask)] as const);
    return new Map(await Promise.all(granting));
  };
}
