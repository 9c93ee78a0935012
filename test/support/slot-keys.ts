import { createHash } from "node:crypto";

/** Redis key of a site's slots, as described in `egress/slot-lease-store`. */
export function slotsKey(egressId: string, site: string): string {
  const hash = createHash("sha256").update(site).digest().subarray(0, 16).toString("base64url");
  return `rcpt:slots:{${egressId}}:${hash}`;
}
