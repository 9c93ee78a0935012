import type { QuotaLedger } from "../../src/features/quota/quota-ledger.ts";

/**
 * A ledger that leases by `parts.lease`, accepts every report of a lease, and has no usage; `parts` may override each
 * function.
 */
export function quotaLedger(parts: Pick<QuotaLedger, "lease"> & Partial<QuotaLedger>): QuotaLedger {
  return {
    flush: async (reports) => new Set(reports.map(({ id }) => id)),
    release: async () => {},
    reap: async () => 0,
    usage: async () => ({ day: "2026-01-01", used: 0, held: 0, leases: [] }),
    ...parts,
  };
}
