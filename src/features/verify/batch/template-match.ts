import type { Evidence } from "../../../verification/evidence.ts";
import { domainAlias } from "../../../verification/mailbox/alias.ts";
import { type AliasKind, tagOf } from "../../../verification/mailbox/normal-form.ts";
import { localSignals, nameSignals } from "../../../verification/verdict/reputation.ts";
import type { AddressQuestion, DomainStanding } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";

/** What a row must have in common with the row that a template was made of, so that the template is also its own. */
export interface TemplateTraits {
  evidence: Evidence | null;
  question: DomainStanding;
  cached: boolean;
  signals: readonly string[];
  tag: AliasKind | null;
}

/** What a local part says of itself. */
export type LocalPartFacts = Pick<TemplateTraits, "signals" | "tag">;
/** For a text that is no address. */
const NO_LOCAL: LocalPartFacts = { signals: [], tag: null };

export function localPartFactsOf({ address }: AddressQuestion): LocalPartFacts {
  if (address === null) return NO_LOCAL;
  return { signals: localSignals(address.local), tag: tagOf(address) };
}

/** Whether a row's result is made by this template: nothing that is shown of it differs. */
export function matchesTemplate(
  one: TemplateTraits,
  standing: DomainStanding,
  finding: EvidenceFinding,
  { signals, tag }: LocalPartFacts,
): boolean {
  const { blocked, overridden, scope } = one.question;
  if (scope !== standing.scope || blocked !== standing.blocked || overridden !== standing.overridden)
    return false;
  if (one.cached !== finding.cached || one.signals !== signals || one.tag !== tag) return false;
  const evidence = finding.entry?.evidence ?? null;
  return one.evidence === null || evidence === null
    ? one.evidence === evidence
    : one.evidence.isLike(evidence);
}

/**
 * What a template is made of, as text: the ids of the evidence, what the name of the domain says, and the local part. It is looked
 * at once a domain and outcome.
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
