import type { ParsedAddress } from "../address/address.ts";
import { hostedRulesOf, type MailboxRules, mailboxRulesOf, PLUS, subdomainBase } from "./rules.ts";

type Address = Pick<ParsedAddress, "local" | "domain" | "normalised"> & {
  name: { mailboxes: MailboxRules | null };
};

const BEYOND_ASCII = /[^\0-\x7f]/;

/** As the provider reads it; null: it is no name. */
function readName(text: string, { ignored, same }: MailboxRules): string | null {
  const typed = same === null ? text : text.replaceAll(same[0], same[1]);
  const name = ignored === null ? typed : typed.replace(ignored, "");
  return name === "" || name.startsWith(".") || name.endsWith(".") || name.includes("..") ? null : name;
}

/** What stands before the tag, as the provider reads it; null: there is no tag with a name before it. */
function taggedName(local: string, rules: MailboxRules): string | null {
  const at = rules.tag === null ? -1 : local.indexOf(rules.tag);
  return at < 0 ? null : readName(local.slice(0, at), rules);
}

/**
 * `normalized_email`: one text for the spellings of an address that lead to one mailbox, as far as its provider is known:
 * for finding a person twice, not for sending to. Case goes everywhere, although an unknown server may tell mailboxes apart
 * by it; tags and dots only where the provider is known by the domain, or by its exchangers.
 *
 * @param provider of the exchangers; null: not known
 */
export function normalizedEmail(address: Address, provider: string | null): string {
  const { local, domain, normalised } = address;
  // What needs quotes is no provider's name.
  if (local.startsWith('"')) return normalised;
  const lower = BEYOND_ASCII.test(local) ? local.toLowerCase().normalize("NFC") : local.toLowerCase();
  const base = subdomainBase(domain);
  if (base !== null) {
    const owner = domain.slice(0, domain.length - base.length - 1);
    return `${owner}@${mailboxRulesOf(base)?.canonicalDomain ?? base}`;
  }
  const rules = address.name.mailboxes ?? hostedRulesOf(provider);
  const name = rules === null ? lower : (taggedName(lower, rules) ?? readName(lower, rules) ?? lower);
  const at = rules?.canonicalDomain ?? domain;
  return name === local && at === domain ? normalised : `${name}@${at}`;
}

/** What makes an address one of several that a mailbox has. */
export type AliasKind = "plus_tag" | "hyphen_tag" | "subdomain" | "alias_service";

/** A tag in the local part. At a domain of which nothing is known `+` is taken for one, since it is nearly always. */
export function tagOf({ local, name }: Pick<Address, "local" | "name">): "plus_tag" | "hyphen_tag" | null {
  if (local.startsWith('"')) return null;
  const rules = name.mailboxes?.tag ? name.mailboxes : PLUS;
  if (taggedName(local, rules) === null) return null;
  return rules.tag === "+" ? "plus_tag" : "hyphen_tag";
}
