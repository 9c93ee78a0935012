/** Counts from which clients can bound the charges of single verifications. */
export interface SingleCharges {
  /** Answered and not free: each cost a unit. */
  charged: number;
  /** Requests without an answer: each cost one unit, or none. */
  cutOff: number;
  /** Units that leases of dead or silent processes may have been charged beyond what they reported. */
  written: number;
}

export interface ChargeInterval {
  least: number;
  most: number;
}

/**
 * Units that settling an unrenewed lease may overcharge. The ledger assumes that everything unreported was spent
 * ("never over the limit"): at most the tranche, and no more than was granted.
 */
export function writtenOff(lease: { granted: number; spent: number; tranche: number }): number {
  return Math.max(0, Math.min(lease.granted - lease.spent, lease.tranche));
}

export function chargeInterval({ charged, cutOff, written }: SingleCharges): ChargeInterval {
  return { least: charged, most: charged + cutOff + written };
}

/** Units by which a charge misses its interval; 0: it is right. */
export function wrongCharge(used: number, { least, most }: ChargeInterval): number {
  return Math.max(0, least - used, used - most);
}
