import { aliasServiceOf } from "../lists/alias-services.ts";
import { type AliasKind, tagOf } from "./normal-form.ts";
import { subdomainBase } from "./rules.ts";

export interface Alias {
  kind: AliasKind | null;
  /** Name of the privacy alias service, if it is one. */
  service: string | null;
}

const NO_ALIAS: Alias = { kind: null, service: null };

/** The kind of alias that the domain makes of each of its addresses. @param hosts its exchangers */
export function domainAlias(domain: string, hosts: readonly string[]): Alias {
  const service = aliasServiceOf(domain, hosts);
  if (service !== null) return { kind: "alias_service", service };
  return subdomainBase(domain) === null ? NO_ALIAS : { kind: "subdomain", service: null };
}

/** Whether the address is one of several of a mailbox, by its form, by its domain, or by the service that forwards its mail. */
export function aliasOf(
  address: Parameters<typeof tagOf>[0] & { domain: string },
  hosts: readonly string[],
): Alias {
  const ofDomain = domainAlias(address.domain, hosts);
  return ofDomain.kind === null ? { kind: tagOf(address), service: null } : ofDomain;
}
