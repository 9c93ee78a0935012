import type { QuotaLedger } from "../../src/features/quota/quota-ledger.ts";

/** A ledger that leases as it is told, takes in whatever it hears of a lease, and shows nobody's usage; `parts` may do otherwise. */
export function quotaLedger(parts: Pick<QuotaLedger, "lease"> & Partial<QuotaLedger>): QuotaLedger {
  return {
    flush: async (reports) => new Set(reports.map(({ id }) => id)),
    release: async () => {},
    reap: async () => 0,
    usage: async () => ({ day: "2026-01-01", used: 0, held: 0, leases: [] }),
    ...parts,
  };
}
