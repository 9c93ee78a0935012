import { LIMITS } from "../../config/limits/limits.ts";
import { AppError, type ErrorIssue } from "../../platform/errors.ts";
import { NOT_A_DOMAIN_DETAIL, readDomainName } from "../blocklist/domain-name.ts";

/**
 * `readDomains`, but for a few off the event loop.
 * @param share see `shareKey`. @throws AppError also `overloaded`
 */
export type ReadDomains = (texts: readonly string[], share: string) => Promise<string[]>;

/**
 * Each domain once, in order of first mention. Up to a thirtieth of a millisecond each.
 * @throws AppError `validation_failed` naming each invalid domain
 */
export function readDomains(texts: readonly string[]): string[] {
  const domains = new Set<string>();
  const errors: ErrorIssue[] = [];
  for (const [index, text] of texts.entries()) {
    const domain = readDomainName(text);
    if (domain !== null) domains.add(domain);
    else if (errors.length < LIMITS.http.validationIssues)
      errors.push({ path: `domains.${index}`, message: NOT_A_DOMAIN_DETAIL });
  }
  const [first] = errors;
  if (first === undefined) return [...domains];
  throw new AppError("validation_failed", `${first.path} (body) ${NOT_A_DOMAIN_DETAIL}.`, { errors });
}
