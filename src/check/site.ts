import { getDomain } from "tldts";
import { PROVIDER_MX_SUFFIXES } from "./providers.ts";

/** Enough to tell sites apart; a longer list of operators is cut, so that a hostile zone makes no long keys. */
const MAX_OPERATORS = 4;

/** The listed names as a tree of labels from the right. */
interface Branch {
  /** Whose name ends here. */
  provider: string | null;
  labels: Map<string, Branch>;
  /** Those of `labels` that hold a `*`, cut in two there. */
  patterns: { start: string; end: string; branch: Branch }[];
}

const LISTED = newBranch();
/** Registrable domains of the listed names. */
const PROVIDER_DOMAINS = new Set<string>();

for (const [provider, names] of Object.entries(PROVIDER_MX_SUFFIXES)) {
  for (const name of names) {
    name.split(".").reduceRight(branchAt, LISTED).provider = provider;
    const domain = getDomain(name.replaceAll("*", "x"));
    if (domain !== null) PROVIDER_DOMAINS.add(domain);
  }
}

function newBranch(): Branch {
  return { provider: null, labels: new Map(), patterns: [] };
}

function branchAt(parent: Branch, label: string): Branch {
  const known = parent.labels.get(label);
  if (known !== undefined) return known;
  const branch = newBranch();
  parent.labels.set(label, branch);
  const star = label.indexOf("*");
  if (star >= 0) parent.patterns.push({ start: label.slice(0, star), end: label.slice(star + 1), branch });
  return branch;
}

export interface Site {
  /** Key of caps, shaping and breakers: the provider, or the operators of the MX hosts. At most 1 100 characters. */
  site: string;
  /** Key of `PROVIDER_MX_SUFFIXES`, or null for everybody else. */
  provider: string | null;
}

/** Provider whose listed name `labels` end in, up to the label `at`; a plain label goes before a pattern. */
function providerOf(labels: readonly string[], at = labels.length - 1, branch = LISTED): string | null {
  const label = labels[at];
  if (label === undefined) return branch.provider;
  const plain = branch.labels.get(label);
  let provider = plain === undefined ? null : providerOf(labels, at - 1, plain);
  for (const { start, end, branch: next } of branch.patterns) {
    if (provider !== null) break;
    if (label.length < start.length + end.length || !label.startsWith(start) || !label.endsWith(end))
      continue;
    provider = providerOf(labels, at - 1, next);
  }
  return provider ?? branch.provider;
}

/** Whether a domain is, or is below, the registrable domain of a provider's listed mail exchangers. */
export function isProviderDomain(domain: string): boolean {
  return PROVIDER_DOMAINS.has(getDomain(domain) ?? domain);
}

/**
 * Who runs a host, as the public suffix list with its private part tells: neighbours at a dynamic DNS are strangers.
 * So are those below a provider's domain, where the provider's own exchangers are listed.
 */
function operatorOf(host: string): string {
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? host;
  return PROVIDER_DOMAINS.has(domain) ? host : domain;
}

/**
 * Rolls an MX set up to the site that runs it. `hosts` in order of preference, lower case, A-labels; the most
 * preferred one decides the provider, since that is where a session goes. Without hosts the domain is the site.
 */
export function siteOf(hosts: readonly string[], domain: string): Site {
  const provider = providerOf((hosts[0] ?? "").split("."));
  if (provider !== null) return { site: provider, provider };
  const operators = new Set((hosts.length > 0 ? hosts : [domain]).map(operatorOf));
  return { site: [...operators].slice(0, MAX_OPERATORS).sort().join(","), provider: null };
}
