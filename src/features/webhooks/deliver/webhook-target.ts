import { isIP } from "node:net";
import { LIMITS } from "../../../config/limits/limits.ts";
import { mayDial } from "../../../platform/public-address.ts";
import { hostOf, isLocalhost } from "../url.ts";
import type { AttemptError } from "./outcome.ts";

/** Looks up a host in the DNS. */
export type HostLookup = (host: string) => Promise<HostAddresses>;
export type HostAddresses =
  | { found: true; addresses: string[] }
  | { found: false; error: Extract<AttemptError, "host_not_found" | "dns_failure"> };

/** The only addresses that an attempt may connect to. */
export type WebhookTarget =
  | { ok: true; host: string; addresses: { address: string; family: 4 | 6 }[] }
  | { ok: false; error: AttemptError };

function addressesOf(host: string, lookup: HostLookup): Promise<HostAddresses> | HostAddresses {
  if (isIP(host) !== 0) return { found: true, addresses: [host] };
  if (isLocalhost(host)) return { found: true, addresses: ["127.0.0.1", "::1"] };
  return lookup(host);
}

/**
 * Looks up the host of a URL, once: the checked addresses are the ones connected to, so that a name which answers
 * differently the next time (DNS rebinding) gains nothing. One private address among public ones refuses the host: it is an
 * attack, or a mistake in the zone that should show.
 *
 * @param url one that `readWebhookUrl` accepted
 */
export async function resolveTarget(
  url: URL,
  lookup: HostLookup,
  privateAddresses: boolean,
): Promise<WebhookTarget> {
  const host = hostOf(url);
  const known = await addressesOf(host, lookup);
  if (!known.found) return { ok: false, error: known.error };
  if (!known.addresses.every((address) => mayDial(address, privateAddresses)))
    return { ok: false, error: "address_not_allowed" };
  const addresses = known.addresses
    .slice(0, LIMITS.webhooks.addressesTried)
    .map((address) => ({ address, family: isIP(address) === 6 ? (6 as const) : (4 as const) }));
  return addresses.length === 0 ? { ok: false, error: "host_not_found" } : { ok: true, host, addresses };
}
