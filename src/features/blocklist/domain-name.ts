import { parseDomain } from "../../verification/address/domain.ts";

/** One trailing dot, as DNS writes a full name; also those that IDNA takes for one (UTS #46, RFC 3490 §3.1). */
const ROOT_DOT = /[.\u3002\uff0e\uff61]$/;

/** Error text for a field that `readDomainName` refuses, after the field's name. */
export const NOT_A_DOMAIN_DETAIL = "must be a domain such as example.com: no top-level domain, no IP address";

/**
 * Reads a domain that a person has typed. Spaces around it and its trailing dot are dropped, then it is parsed like the
 * domain of an address. A-labels, lower case; null for a text that is not a domain, a top-level domain or an IP address.
 * @param text bounded by the caller
 */
export function readDomainName(text: string): string | null {
  const result = parseDomain(text.trim().replace(ROOT_DOT, "").normalize("NFC"));
  return result.ok ? result.domain : null;
}
