import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Scope } from "../../../verification/evidence.ts";

/**
 * Cuts rows into batches of one scope and at most `size`. Rows of one domain stay together, so that they use the same
 * thread and hence the same sessions; only a domain with more rows than a batch is cut. The batches follow the first
 * appearance of each domain.
 */
export function cutByDomain<T extends { address: Pick<ParsedAddress, "domain">; scope: Scope }>(
  rows: readonly T[],
  size: number,
): T[][] {
  const batches: T[][] = [];
  for (const scope of ["probed", "unprobed"] as const) {
    let batch: T[] = [];
    for (const domain of byDomain(rows, scope)) {
      if (batch.length > 0 && batch.length + domain.length > size) {
        batches.push(batch);
        batch = [];
      }
      batch = batch.concat(domain);
      for (; batch.length > size; batch = batch.slice(size)) batches.push(batch.slice(0, size));
    }
    if (batch.length > 0) batches.push(batch);
  }
  return batches;
}

function byDomain<T extends { address: Pick<ParsedAddress, "domain">; scope: Scope }>(
  rows: readonly T[],
  scope: Scope,
): Iterable<T[]> {
  const domains = new Map<string, T[]>();
  for (const row of rows) {
    if (row.scope !== scope) continue;
    const mates = domains.get(row.address.domain);
    if (mates === undefined) domains.set(row.address.domain, [row]);
    else mates.push(row);
  }
  return domains.values();
}
