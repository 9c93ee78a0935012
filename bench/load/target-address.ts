import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublicAddress } from "../../src/platform/public-address.ts";
import { UsageError } from "./units.ts";

/** All addresses of a host. */
export type Lookup = (host: string) => Promise<string[]>;

const systemLookup: Lookup = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** Addresses of a URL's host; a literal address is its own. @throws UsageError when it has no address */
async function addressesOf(hostname: string, find: Lookup): Promise<string[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [host];
  try {
    return await find(host);
  } catch (error) {
    throw new UsageError(
      `--url: ${host} cannot be looked up (${(error as { code?: string }).code ?? "no address"})`,
    );
  }
}

/**
 * A load is for one's own deployment. What is on this machine or in a private network is taken for that; of anything
 * else the user has to say so.
 * @throws UsageError when the host is public, or cannot be looked up
 */
export async function requireOwn(origin: string, isOwn: boolean, find: Lookup = systemLookup): Promise<void> {
  const { hostname } = new URL(origin);
  const found = await addressesOf(hostname, find);
  if (isOwn || !found.some(isPublicAddress)) return;
  throw new UsageError(
    `${hostname} is a public address. A load is for a deployment of your own: it uses up its quota, and whatever ` +
      "addresses you give are asked of real mail servers. If it is yours, say so by --i-own-this-deployment",
  );
}
