import type { Evidence } from "../../check/evidence.ts";
import { domainAlias } from "../../check/mailbox/alias.ts";
import { type AliasKind, tagOf } from "../../check/mailbox/normal-form.ts";
import { localSignals, nameSignals, PLAIN_LOCAL } from "../../check/verdict/reputation.ts";
import type { AddressQuestion, DomainStanding } from "./address-question.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";

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
/** Of what is no address. */
export const NO_LOCAL: LocalPartFacts = { signals: [], tag: null };
/** As `isOrdinaryLocal` tells it. */
export const ORDINARY: LocalPartFacts = { signals: PLAIN_LOCAL, tag: null };

export function localPartFactsOf({ address, isOrdinary: ordinary }: AddressQuestion): LocalPartFacts {
  if (address === null) return NO_LOCAL;
  return ordinary ? ORDINARY : { signals: localSignals(address.local), tag: tagOf(address) };
}

type Listed = readonly (string | number)[] | undefined;

function sameList(a: Listed, b: Listed): boolean {
  if (a === b || a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function sameMx(a: Evidence["mx"], b: Evidence["mx"]): boolean {
  if (a === b) return true;
  const isSame = a.status === b.status && a.provider === b.provider && a.fault === b.fault;
  return isSame && sameList(a.hosts, b.hosts) && sameList(a.preferences, b.preferences);
}

function sameDomain(a: Evidence["domain"], b: Evidence["domain"]): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  const isSame = a.spf === b.spf && a.dmarc === b.dmarc && a.listedBy === b.listedBy;
  return isSame && a.parkedAddress === b.parkedAddress;
}

/** All that is shown of a probe, and all that the verdict goes by, without the latency. */
function sameSmtp(a: Evidence["smtp"], b: Evidence["smtp"]): boolean {
  if (a === null || b === null) return a === b;
  const isSame = a.class === b.class && a.code === b.code && a.enhancedCode === b.enhancedCode;
  const isJudgedSame = a.stage === b.stage && a.fault === b.fault && a.trusted === b.trusted;
  return isSame && isJudgedSame && a.catchAll === b.catchAll;
}

function sameEvidence(a: Evidence | null, b: Evidence | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  return (
    a.role === b.role &&
    a.freeProvider === b.freeProvider &&
    a.disposable.listed === b.disposable.listed &&
    a.disposable.source === b.disposable.source &&
    sameSmtp(a.smtp, b.smtp) &&
    sameMx(a.mx, b.mx) &&
    sameDomain(a.domain, b.domain)
  );
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
  return sameEvidence(one.evidence, finding.entry?.evidence ?? null);
}

/**
 * What of a row its template is made of, as text: what `matchesTemplate` compares, and what the name of its domain says. It is looked at
 * once a domain and outcome.
 */
export function templateKeyOf(
  { address, blocked, overridden, scope }: AddressQuestion,
  { entry, cached }: EvidenceFinding,
  { signals, tag }: LocalPartFacts,
): string {
  const names = address === null ? null : nameSignals(address);
  const evidence = entry?.evidence ?? null;
  const alias = address === null ? null : domainAlias(address.domain, evidence?.mx.hosts ?? []);
  const { smtp, mx, domain, role, freeProvider, disposable } = evidence ?? {};
  const ofServer = smtp && [
    ...[smtp.class, smtp.code, smtp.enhancedCode, smtp.stage, smtp.fault, smtp.trusted, smtp.catchAll],
  ];
  return JSON.stringify([
    ...[names, blocked, overridden, scope, cached, signals, tag, alias, role, freeProvider],
    ...[disposable?.listed, disposable?.source, mx?.status, mx?.provider, mx?.fault, mx?.hosts],
    mx?.preferences,
    ...[domain?.spf, domain?.dmarc, domain?.listedBy, domain?.parkedAddress, ofServer],
  ]);
}
