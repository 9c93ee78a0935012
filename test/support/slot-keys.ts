import { createHash } from "node:crypto";

/** Where the slots of a site are kept in Redis, as `egress/slot-lease-store` says in words. */
export function slotsKey(egressId: string, site: string): string {
  const hash = createHash("sha256").update(site).digest().subarray(0, 16).toString("base64url");
  return `rcpt:slots:{${egressId}}:${hash}`;
}
