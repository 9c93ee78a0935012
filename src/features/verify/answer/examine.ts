import type { Clock } from "../../../platform/time/clock.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { evidenceOf, type Scope } from "../../../verification/evidence.ts";
import type { Lists } from "../../../verification/lists/lists.ts";
import { withOverride } from "../../../verification/verdict/override.ts";
import { type Decision, decide } from "../../../verification/verdict/verdict.ts";
import type { Actor, TeamOverlay } from "../../identity/actor.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EvidenceCache } from "../cache/evidence-cache.ts";
import type { InFlightChecks, VerificationWaiter } from "../checks/in-flight-checks.ts";
import { type AddressQuestion, type DomainStanding, malformedTextOf } from "./address-question.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { renderResult } from "./render-result.ts";
import type { VerificationResult } from "./verification-result.ts";

/** The sender of a question, as far as it changes the answer. */
export interface VerificationAsker {
  teamId: string;
  /** The tier probes mailboxes, and the caller has not declined that. */
  probing: boolean;
  /** The caller asked for no probe. Absent: no. */
  declined?: boolean;
  overlay: TeamOverlay;
}

/** @param probe false: the caller wants no mail server asked */
export function askerOf({ teamId, limits, overlay }: Actor, probe: boolean): VerificationAsker {
  return { teamId, probing: limits.probing && probe, declined: !probe, overlay };
}

/**
 * What becomes of a finding: exactly one of the two is called. Neither is when `find` itself throws, except where `settled` threw
 * for an answer that was there at once.
 */
export interface FindingHandler<T> {
  settled(finding: EvidenceFinding): T;
  failed(): void;
}

export interface DecidedAnswer {
  decision: Decision;
  result: VerificationResult;
}

/** Computes the result of an address, for single requests and for the rows of a job alike. */
export interface Examiner {
  /** @param email an address, or a text that it is read out of (`readAddresses`) */
  understand(email: string, withEvidence: boolean, asker: VerificationAsker): AddressQuestion;
  /** True when the domain is in no list of the team or the operator. */
  isPlain(domain: string, overlay: TeamOverlay): boolean;
  /** What `find` would find in memory of an address whose domain is plain. Not counted as a look. */
  peek(address: ParsedAddress, scope: Scope): CacheEntry | undefined;
  /** Whether `find` would answer at once. Not counted as a look. */
  isKnown(question: AddressQuestion, refresh: boolean): boolean;
  /**
   * At once when the cache knows, or no server need be asked.
   * @param refresh do not be content with what the cache knows
   * @param handler makes the returned value of what was found
   * @throws AppError `overloaded`
   */
  find<T>(
    question: AddressQuestion,
    refresh: boolean,
    waiter: VerificationWaiter,
    handler: FindingHandler<T>,
  ): T | Promise<T>;
  /** Decides the verdict and renders the result. */
  answer(question: AddressQuestion, finding: EvidenceFinding): DecidedAnswer;
}

export interface ExaminerDeps {
  clock: Clock;
  cache: EvidenceCache;
  inFlight: InFlightChecks;
  lists: Lists;
  /** Whether the operator calls the domain disposable for all teams. */
  isPromoted(domain: string): boolean;
  /** Called with the result of every look into the cache's memory. */
  onLookup(result: "memory" | "miss"): void;
}

function standingOf(blocked: boolean, overridden: boolean, scope: Scope): DomainStanding {
  return Object.freeze({ blocked, overridden, scope });
}

/** The standings: of a malformed text; of overridden domains, by whether they are blocked; of the others, also by scope. */
const NO_DOMAIN_STANDING = standingOf(false, false, "unprobed");
const OVERRIDDEN = [false, true].map((blocked) => standingOf(blocked, true, "unprobed"));
const USUAL: Record<Scope, DomainStanding[]> = {
  probed: [false, true].map((blocked) => standingOf(blocked, false, "probed")),
  unprobed: [NO_DOMAIN_STANDING, standingOf(true, false, "unprobed")],
};

export function createExaminer(deps: ExaminerDeps): Examiner {
  function standing(domain: string, { probing, overlay }: VerificationAsker): DomainStanding {
    const overridden = overlay.isDisposable(domain) || deps.isPromoted(domain);
    const others = overridden ? OVERRIDDEN : USUAL[probing ? "probed" : "unprobed"];
    return others[overlay.isBlocked(domain) ? 1 : 0] as DomainStanding;
  }

  return {
    understand(email, withEvidence, asker) {
      const reading = readAddresses(email);
      const address = reading.kind === "one" ? reading.address : null;
      const { blocked, overridden, scope } =
        address === null ? NO_DOMAIN_STANDING : standing(address.domain, asker);
      const { teamId, declined = false } = asker;
      return {
        teamId,
        email,
        withEvidence,
        declined,
        address,
        unwrapped: reading.kind === "one" && reading.unwrapped,
        malformed: malformedTextOf(reading),
        blocked,
        overridden,
        scope,
        isMemoryMiss: false,
      };
    },
    isPlain: (domain, overlay) =>
      !overlay.isBlocked(domain) && !overlay.isDisposable(domain) && !deps.isPromoted(domain),
    peek: ({ cacheKey }, scope) => deps.cache.peek(scope, cacheKey),
    isKnown: (question, refresh) =>
      !needsLookup(question) ||
      (!refresh && deps.cache.peek(question.scope, question.address.cacheKey) !== undefined),
    find: (question, refresh, waiter, handler) => find(deps, question, refresh, waiter, handler),
    answer: (question, finding) => answer(deps, question, finding),
  };
}

function find<T>(
  deps: ExaminerDeps,
  question: AddressQuestion,
  refresh: boolean,
  waiter: VerificationWaiter,
  handler: FindingHandler<T>,
): T | Promise<T> {
  if (!needsLookup(question)) return handler.settled(answerWithoutLookup(deps, question));
  const { teamId, address, scope } = question;
  if (!refresh) {
    const entry = deps.cache.peek(scope, address.cacheKey);
    deps.onLookup(entry ? "memory" : "miss");
    if (entry) return handler.settled({ entry, cached: true });
  }
  return deps.inFlight.join({ teamId, address, scope, refresh }, waiter, handler);
}

export type NoLookupDeps = Pick<ExaminerDeps, "clock" | "lists">;

/** Whether cache or engine have to be asked. */
export function needsLookup(
  question: AddressQuestion,
): question is AddressQuestion & { address: ParsedAddress } {
  return question.address !== null && !question.blocked;
}

/** The finding of a question that need not be asked. */
export function answerWithoutLookup(deps: NoLookupDeps, { address }: AddressQuestion): EvidenceFinding {
  return { entry: address === null ? null : evidenceWithoutLookup(deps, address), cached: false };
}

/** A blocked domain is not looked up anywhere; the lists in memory cost nothing. */
function evidenceWithoutLookup(deps: NoLookupDeps, address: ParsedAddress): CacheEntry {
  const evidence = evidenceOf({
    mx: { status: "skipped", hosts: [], preferences: [], provider: null, ttlS: 0, fault: null },
    disposable: deps.lists.disposable(address.domain),
    role: deps.lists.role(address.local),
    freeProvider: deps.lists.isFree(address.domain),
    smtp: null,
  });
  return { evidence, storedAt: deps.clock.now(), ttlS: 0 };
}

function answer(deps: ExaminerDeps, question: AddressQuestion, finding: EvidenceFinding): DecidedAnswer {
  const { email, address, malformed } = question;
  const found = finding.entry ?? lateEntry(deps, question, finding);
  const entry = question.overridden ? overriddenEntry(found) : found;
  const decision = decide({
    address,
    malformed: malformed?.reason ?? null,
    evidence: entry?.evidence ?? null,
    failure: finding.failure ?? null,
    probing: question.scope === "probed",
    declined: question.declined === true,
    blocked: question.blocked,
  });
  const result = renderResult({
    email: address?.normalised ?? email,
    address,
    addresses: malformed?.addresses ?? 0,
    decision,
    entry,
    now: deps.clock.now(),
    cached: finding.cached,
    livemode: true,
    withEvidence: question.withEvidence,
  });
  return { decision, result };
}

/** The evidence in an answer at the deadline: that of the DNS, else that of the lists. It is not cached. */
function lateEntry(
  deps: ExaminerDeps,
  { address }: AddressQuestion,
  finding: EvidenceFinding,
): CacheEntry | null {
  if (finding.failure !== "deadline" || address === null) return null;
  const evidence = finding.known ?? null;
  return evidence === null
    ? evidenceWithoutLookup(deps, address)
    : { evidence, storedAt: deps.clock.now(), ttlS: 0 };
}

function overriddenEntry(entry: CacheEntry | null): CacheEntry | null {
  return entry === null ? null : { ...entry, evidence: withOverride(entry.evidence) };
}
