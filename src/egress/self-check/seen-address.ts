import { isIP } from "node:net";
import { LIMITS } from "../../config/limits/limits.ts";
import { isPublicAddress } from "../../platform/public-address.ts";
import type { SeenAddress } from "./report.ts";

const LITERAL = /\[(?:IPv6:)?([0-9a-f:.]{3,45})\]/gi;

/**
 * The address that a mail server sees us come from, in the first line of its reply to EHLO: `mx.google.com at your service,
 * [203.0.113.5]` (Google), `VI1EUR05FT062.mail.protection.outlook.com Hello [203.0.113.5]` (Microsoft), `mail.example.org
 * Hello probe.example.com [203.0.113.5]` (Exim, Sendmail).
 * @param allowPrivate also addresses that only a private network, or a test, can see
 * @returns null: the line has no address, or one that no server of the internet can have seen
 */
export function seenAddressOf(helloLine: string, allowPrivate: boolean): string | null {
  for (const [, text = ""] of helloLine.matchAll(LITERAL)) {
    if (isIP(text) !== 0 && (allowPrivate || isPublicAddress(text))) return text.toLowerCase();
  }
  return null;
}

/**
 * The address that most servers report; null when no server reports one. Behind a pool of addresses they differ, and the
 * first wins a tie.
 */
export function mostFrequentAddress(addresses: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const address of addresses) counts.set(address, (counts.get(address) ?? 0) + 1);
  let best: string | null = null;
  for (const [address, count] of counts) {
    if (best === null || count > (counts.get(best) ?? 0)) best = address;
  }
  return best;
}

/**
 * Addresses seen now and, of the same IP version, lately: a pool shows another of its addresses each time. The newest, at
 * most LIMITS.selfCheck.addresses.
 */
export function withRemembered(
  seen: readonly string[],
  known: readonly SeenAddress[],
  epochMs: number,
): SeenAddress[] {
  const { addresses: most, rememberedMs } = LIMITS.selfCheck;
  const now = [...new Set(seen)].map((address) => ({ address, seenAt: new Date(epochMs).toISOString() }));
  const families = new Set(now.map(({ address }) => isIP(address)));
  const before = known.filter(
    ({ address, seenAt }) =>
      !seen.includes(address) &&
      (families.size === 0 || families.has(isIP(address))) &&
      epochMs - Date.parse(seenAt) < rememberedMs,
  );
  return [...now, ...before.toSorted((a, b) => Date.parse(b.seenAt) - Date.parse(a.seenAt))].slice(0, most);
}
