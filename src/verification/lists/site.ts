import { getDomain } from "tldts";
import type { Evidence } from "../evidence.ts";
import { PROVIDER_MX_SUFFIXES } from "./providers.ts";

/** The listed names as a tree of labels from the right. */
interface LabelNode {
  /** The provider whose name ends here. */
  provider: string | null;
  labels: Map<string, LabelNode>;
  /** Those of `labels` that hold a `*`, cut in two there. */
  patterns: { start: string; end: string; branch: LabelNode }[];
}

function createLabelNode(): LabelNode {
  return { provider: null, labels: new Map(), patterns: [] };
}

function labelNodeAt(parent: LabelNode, label: string): LabelNode {
  const known = parent.labels.get(label);
  if (known !== undefined) return known;
  const branch = createLabelNode();
  parent.labels.set(label, branch);
  const star = label.indexOf("*");
  if (star >= 0) parent.patterns.push({ start: label.slice(0, star), end: label.slice(star + 1), branch });
  return branch;
}

export interface Site {
  /** Key of caps, shaping and breakers: the provider, or the domain of the host's operator. At most 253 characters. */
  site: string;
  /** Key of `PROVIDER_MX_SUFFIXES`; null: no named provider. */
  provider: string | null;
}

/** The operators of mail exchangers, by their names. */
export interface SiteDirectory {
  /**
   * The operator of a mail exchanger. `hosts` in order of preference, lower case, A-labels: for an MX set it is the
   * operator of the most preferred one, where a session goes first. Without hosts the domain is the site.
   */
  siteOf(hosts: readonly string[], domain: string): Site;
  /** Whether a domain is, or is below, the registrable domain of a provider's listed mail exchangers. */
  isProviderDomain(domain: string): boolean;
}

/** The provider with a listed name that `labels` end in, up to the label `at`; a plain label has priority over a pattern. */
function providerOf(labels: readonly string[], branch: LabelNode, at = labels.length - 1): string | null {
  const label = labels[at];
  if (label === undefined) return branch.provider;
  const plain = branch.labels.get(label);
  let provider = plain === undefined ? null : providerOf(labels, plain, at - 1);
  for (const { start, end, branch: next } of branch.patterns) {
    if (provider !== null) break;
    if (label.length < start.length + end.length || !label.startsWith(start) || !label.endsWith(end))
      continue;
    provider = providerOf(labels, next, at - 1);
  }
  return provider ?? branch.provider;
}

/** @param own as of `createSiteDirectory` */
export function providerNames(own: Readonly<Record<string, readonly string[]>>): ReadonlySet<string> {
  return new Set([...Object.keys(PROVIDER_MX_SUFFIXES), ...Object.keys(own)]);
}

/** @param own names of exchangers by provider, beside those of `PROVIDER_MX_SUFFIXES` */
export function createSiteDirectory(own: Readonly<Record<string, readonly string[]>> = {}): SiteDirectory {
  const listed = createLabelNode();
  /** Registrable domains of the listed names. */
  const domains = new Set<string>();
  for (const [provider, names] of [...Object.entries(PROVIDER_MX_SUFFIXES), ...Object.entries(own)]) {
    for (const name of names) {
      name.split(".").reduceRight(labelNodeAt, listed).provider = provider;
      const domain = getDomain(name.replaceAll("*", "x"));
      if (domain !== null) domains.add(domain);
    }
  }
  /**
   * The operator of a host, by the public suffix list with its private part: neighbours at a dynamic DNS are strangers. So
   * are those below a provider's domain, where the provider's own exchangers are listed.
   */
  function operatorOf(host: string): string {
    const domain = getDomain(host, { allowPrivateDomains: true }) ?? host;
    return domains.has(domain) ? host : domain;
  }
  return {
    isProviderDomain: (domain) => domains.has(getDomain(domain) ?? domain),
    siteOf(hosts, domain) {
      const [host = domain] = hosts;
      const provider = hosts.length === 0 ? null : providerOf(host.split("."), listed);
      return provider === null ? { site: operatorOf(host), provider } : { site: provider, provider };
    },
  };
}

type ProbedEvidence = Pick<Evidence, "mx" | "smtp">;

/** The site that the evidence is of: that of the host that was asked, else of the most preferred one. */
export function probedSiteOf(
  sites: Pick<SiteDirectory, "siteOf">,
  { mx, smtp }: ProbedEvidence,
  domain: string,
): string {
  const host = smtp?.mxHost ?? "";
  return sites.siteOf(host === "" ? mx.hosts : [host], domain).site;
}

/** The provider whose host was asked, by whose rules its reply is read; null: no named provider. */
export function probedProviderOf({ mx, smtp }: ProbedEvidence): string | null {
  const host = smtp?.mxHost ?? "";
  return host === "" || host === mx.hosts[0] ? mx.provider : siteOf([host], host).provider;
}

/** Without the operator's additions. */
export const { siteOf, isProviderDomain } = createSiteDirectory();
