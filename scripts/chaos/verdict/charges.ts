/** What is known from outside of single verifications: what they must have cost, and what they may have. */
export interface SingleCharges {
  /** Answered and not free: each cost a unit. */
  charged: number;
  /** Requests whose answer never came: a unit each, or none. */
  cutOff: number;
  /** Units that leases of dead or silent processes may have been charged with beyond what was told of them. */
  written: number;
}

export interface ChargeInterval {
  least: number;
  most: number;
}

/**
 * A lease that its process did not renew is settled as if all had been spent that it may not have told of ("never over the
 * limit"): at most its tranche, and no more than was granted.
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
