import { getDomain } from "tldts";
import { PROVIDER_MX_SUFFIXES } from "./providers.ts";

/** Enough to tell sites apart; a longer list of operators is cut, so that a hostile zone makes no long keys. */
const MAX_OPERATORS = 4;

const PROVIDER_BY_SUFFIX: ReadonlyMap<string, string> = new Map(
  Object.entries(PROVIDER_MX_SUFFIXES).flatMap(([provider, names]) => names.map((name) => [name, provider])),
);

export interface Site {
  /** Key of caps, shaping and breakers: the provider, or the operators of the MX hosts. At most 1 100 characters. */
  site: string;
  /** Key of `PROVIDER_MX_SUFFIXES`, or null for everybody else. */
  provider: string | null;
}

/** Provider of the longest listed suffix of `host`, label by label. */
function providerOf(host: string): string | null {
  for (let name = host; name !== ""; ) {
    const provider = PROVIDER_BY_SUFFIX.get(name);
    if (provider !== undefined) return provider;
    const dot = name.indexOf(".");
    name = dot < 0 ? "" : name.slice(dot + 1);
  }
  return null;
}

/** Who runs a host, as the public suffix list with its private part tells: neighbours at a dynamic DNS are strangers. */
function operatorOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true }) ?? host;
}

/**
 * Rolls an MX set up to the site that runs it. `hosts` in order of preference, lower case, A-labels; the most
 * preferred one decides the provider, since that is where a session goes. Without hosts the domain is the site.
 */
export function siteOf(hosts: readonly string[], domain: string): Site {
  const provider = providerOf(hosts[0] ?? "");
  if (provider !== null) return { site: provider, provider };
  const operators = new Set((hosts.length > 0 ? hosts : [domain]).map(operatorOf));
  return { site: [...operators].slice(0, MAX_OPERATORS).sort().join(","), provider: null };
}
