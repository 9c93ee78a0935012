import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { FullResolver } from "../../dns/resolver.ts";

/**
 * Whether the SPF record (RFC 7208) of a domain allows `address` to send for it. It supports enough for advice: `ip4`,
 * `ip6`, `a`, `mx`, `include`, `all` and `redirect`. Records with macros, `exists` or `ptr` are `unknown`.
 */
export type SpfAnswer = "pass" | "fail" | "none" | "unknown";

/** RFC 7208 §4.6.4: maximum terms that query the DNS, over all records. */
const LOOKUPS_MAX = 10;
const MX_HOSTS_MAX = 10;
/** qualifier, mechanism, its argument, prefix length (of IPv4 where both can be), prefix length of IPv6 */
const TERM = /^([-+~?]?)([a-z0-9]+)(?::([^/]+))?(?:\/(\d{1,3}))?(?:\/\/(\d{1,3}))?$/i;
const MECHANISMS: ReadonlySet<string> = new Set(["all", "include", "a", "mx", "ip4", "ip6"]);

interface Mechanism {
  qualifier: string;
  name: string;
  argument: string | undefined;
  /** Bits that must agree; undefined: all. */
  prefix: string | undefined;
}

interface Walk {
  resolver: FullResolver;
  address: string;
  lookups: number;
}

class Undecided extends Error {}

/** Never rejects. */
export async function evaluateSpf(
  resolver: FullResolver,
  domain: string,
  address: string,
): Promise<SpfAnswer> {
  try {
    return await evaluate({ resolver, address, lookups: 0 }, domain);
  } catch (error) {
    if (error instanceof Undecided) return "unknown";
    throw error;
  }
}

async function recordOf({ resolver }: Walk, domain: string): Promise<string | null> {
  const texts = await resolver.txt(domain);
  if (texts.status === "nxdomain" || texts.status === "no_data") return null;
  if (texts.status !== "ok") throw new Undecided();
  const records = texts.records.filter((text) => /^v=spf1( |$)/i.test(text));
  if (records.length > 1) throw new Undecided();
  return records[0] ?? null;
}

function spend(walk: Walk): void {
  if (++walk.lookups > LOOKUPS_MAX) throw new Undecided();
}

/** Each `include` and `redirect` spends a look-up, so that no ring of records is followed for long. */
async function evaluate(walk: Walk, domain: string): Promise<SpfAnswer> {
  const record = await recordOf(walk, domain);
  if (record === null) return "none";
  const terms = record
    .split(/ +/)
    .slice(1)
    .filter((term) => term !== "");
  for (const term of terms) {
    if (/^(redirect|exp)=/i.test(term)) continue;
    const mechanism = mechanismOf(term, isIP(walk.address));
    if (!(await matches(walk, domain, mechanism))) continue;
    return mechanism.qualifier === "" || mechanism.qualifier === "+" ? "pass" : "fail";
  }
  const target = terms.find((term) => /^redirect=/i.test(term))?.slice("redirect=".length);
  if (target === undefined) return "fail";
  if (target.includes("%")) throw new Undecided();
  spend(walk);
  return evaluate(walk, target);
}

function mechanismOf(term: string, family: number): Mechanism {
  const [, qualifier = "", text = "", argument, first, second] = TERM.exec(term) ?? [];
  const name = text.toLowerCase();
  if (!MECHANISMS.has(name) || term.includes("%")) throw new Undecided();
  return { qualifier, name, argument, prefix: name !== "ip6" && family === 6 ? second : first };
}

async function matches(walk: Walk, domain: string, mechanism: Mechanism): Promise<boolean> {
  const { name, argument, prefix } = mechanism;
  if (name === "all") return true;
  if (name === "ip4" || name === "ip6") return isWithin(walk.address, argument ?? "", prefix);
  spend(walk);
  const target = argument ?? domain;
  if (name === "include") return (await evaluate(walk, target)) === "pass";
  if (name === "a") return hostHolds(walk, target, prefix);
  const hosts = await walk.resolver.mx(target);
  if (hosts.status !== "ok") return false;
  for (const { exchange } of hosts.records.slice(0, MX_HOSTS_MAX)) {
    if (exchange !== "" && (await hostHolds(walk, exchange, prefix))) return true;
  }
  return false;
}

async function hostHolds(
  { resolver, address }: Walk,
  host: string,
  prefix: string | undefined,
): Promise<boolean> {
  const found = await (isIP(address) === 6 ? resolver.aaaa(host) : resolver.a(host));
  return found.status === "ok" && found.records.some((record) => isWithin(address, record, prefix));
}

/** `prefix` absent: the address itself. */
function isWithin(address: string, network: string, prefix: string | undefined): boolean {
  const family = isIP(network);
  if (family === 0 || family !== isIP(address)) return false;
  const bits = Number(prefix ?? (family === 4 ? 32 : 128));
  if (bits > (family === 4 ? 32 : 128)) throw new Undecided();
  const [net, own] = [ipaddr.parse(network), ipaddr.parse(address)];
  if (net instanceof ipaddr.IPv4 && own instanceof ipaddr.IPv4) return own.match(net, bits);
  return net instanceof ipaddr.IPv6 && own instanceof ipaddr.IPv6 && own.match(net, bits);
}
