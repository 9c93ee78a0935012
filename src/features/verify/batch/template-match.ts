import type { Evidence } from "../../../verification/evidence.ts";
import { domainAlias } from "../../../verification/mailbox/alias.ts";
import { type AliasKind, tagOf } from "../../../verification/mailbox/normal-form.ts";
import { localSignals, nameSignals } from "../../../verification/verdict/reputation.ts";
import type { AddressQuestion, DomainStanding } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";

/** The traits that a row must share with the row that a template was made from, to use the template. */
export interface TemplateTraits {
  evidence: Evidence | null;
  standing: DomainStanding;
  cached: boolean;
  signals: readonly string[];
  tag: AliasKind | null;
}

/** Traits of a local part. */
export type LocalPartFacts = Pick<TemplateTraits, "signals" | "tag">;
/** For a text that is not an address. */
const NO_LOCAL: LocalPartFacts = { signals: [], tag: null };

export function localPartFactsOf({ address }: AddressQuestion): LocalPartFacts {
  if (address === null) return NO_LOCAL;
  return { signals: localSignals(address.local), tag: tagOf(address) };
}

/**
 * True when this template can be filled for a row: all that is shown is the same. Only for templates of the row's own domain,
 * whose signals and alias are the same already; `templateKeyOf` has them for other domains.
 */
export function matchesTemplate(
  one: TemplateTraits,
  standing: DomainStanding,
  finding: EvidenceFinding,
  { signals, tag }: LocalPartFacts,
): boolean {
  const { blocked, overridden, scope } = one.standing;
  if (scope !== standing.scope || blocked !== standing.blocked || overridden !== standing.overridden)
    return false;
  // Equal signals are one array (`localSignals`).
  if (one.cached !== finding.cached || one.signals !== signals || one.tag !== tag) return false;
  const evidence = finding.entry?.evidence ?? null;
  return one.evidence === null || evidence === null
    ? one.evidence === evidence
    : one.evidence.isLike(evidence);
}

/**
 * The traits of a template as text: the ids of the evidence, the signals of the domain's name, and the local part. Computed
 * once for each domain and outcome.
 */
export function templateKeyOf(
  { address, blocked, overridden, scope }: AddressQuestion,
  { entry, cached }: EvidenceFinding,
  { signals, tag }: LocalPartFacts,
): string {
  const names = address === null ? null : nameSignals(address);
  const evidence = entry?.evidence ?? null;
  const alias = address === null ? null : domainAlias(address.domain, evidence?.mx.hosts ?? []);
  const ids = evidence && [evidence.facts.id, evidence.finding.id];
  return JSON.stringify([names, blocked, overridden, scope, cached, signals, tag, alias, ids]);
}
