import type { ParsedAddress } from "../address/address.ts";
import { hostedRulesOf, type MailboxRules, mailboxRulesOf, PLUS, subdomainBase } from "./rules.ts";

type Address = Pick<ParsedAddress, "local" | "domain" | "normalised"> & {
  name: { mailboxes: MailboxRules | null };
};

const BEYOND_ASCII = /[^\0-\x7f]/;

/** The name by the provider's rules; null: it is not a valid name. */
function readName(text: string, { ignored, same }: MailboxRules): string | null {
  const typed = same === null ? text : text.replaceAll(same[0], same[1]);
  const name = ignored === null ? typed : typed.replace(ignored, "");
  return name === "" || name.startsWith(".") || name.endsWith(".") || name.includes("..") ? null : name;
}

/** The name before the tag, by the provider's rules; null: there is no tag with a name before it. */
function taggedName(local: string, rules: MailboxRules): string | null {
  const at = rules.tag === null ? -1 : local.indexOf(rules.tag);
  return at < 0 ? null : readName(local.slice(0, at), rules);
}

/**
 * `normalized_email`: one form for all spellings of one mailbox, as far as its provider is known. It serves to find a
 * person twice, not to send to. Letter case is always dropped, although an unknown server may distinguish mailboxes by it.
 * Tags and dots are dropped only if the provider is known by the domain, or by its exchangers.
 * @param provider of the exchangers; null: not known
 */
export function normalizedEmail(address: Address, provider: string | null): string {
  const { local, domain, normalised } = address;
  // Names at providers need no quotes.
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

/** Kinds of addresses that are further addresses of a mailbox. */
export type AliasKind = "plus_tag" | "hyphen_tag" | "subdomain" | "alias_service";

/** A tag in the local part. At a domain of which nothing is known `+` is taken for one, since it is nearly always. */
export function tagOf({ local, name }: Pick<Address, "local" | "name">): "plus_tag" | "hyphen_tag" | null {
  if (local.startsWith('"')) return null;
  const rules = name.mailboxes?.tag ? name.mailboxes : PLUS;
  if (taggedName(local, rules) === null) return null;
  return rules.tag === "+" ? "plus_tag" : "hyphen_tag";
}
