import { readAddresses } from "../../check/address/addresses-in.ts";
import type { ParsedAddress } from "../../check/address.ts";
import type { Scope } from "../../check/evidence.ts";
import type { Reason, Verdict } from "../../check/verdict/table.ts";
import { type Decision, isUncharged } from "../../check/verdict/verdict.ts";
import type { CountCell } from "../../core/custom-metrics.ts";
import type { Metrics } from "../../core/metrics.ts";
import { NO_RECORD_OFFSET, RecordRing } from "../../core/record-ring.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { Actor } from "../actor.ts";
import { policyText } from "../limits-view.ts";
import type { Quota, QuotaHandle } from "../quota/quota.ts";
import type { RateLimiter, RateLimitHandle } from "../rate-limit/rate-limit.ts";
import type { UsageCounter, UsageHandle } from "../usage/counts.ts";
import type { Examiner } from "./examine.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerificationTallies } from "./verification-tallies.ts";

/**
 * The short way to an answer that is there already: memory has the address, the answer was drawn and rendered before, a
 * token and a unit of quota are leased. It takes, counts and says what `verify-address` and the steps before it would, in
 * a tenth of the time, since what those look up or make anew for each request is kept here: with the address the answers
 * drawn from its entries, with the credential its places at rate, quota and usage. It keeps no truth of its own: evidence
 * is the cache's, blocklists and overrides the actor's, limits their keepers', asked each time. Whatever is not plain is
 * left to the general way, with nothing taken.
 */
export interface ReadyAnswers {
  /** What can be kept of an address as it was written; null where the general way has to say what it is. */
  understand(email: string): ReadyAddress | null;
  /** It is asked for, by whom is not known yet. */
  expect(address: ReadyAddress): void;
  /** What is ready for this asker; null: nothing. Takes nothing. */
  find(address: ReadyAddress, actor: Actor, nowMs: number): ReadyAnswer | null;
  /** @throws AppError `overloaded` when too many teams are served */
  handleOf(holder: HandleHolder): CredentialHandle;
  /** Takes a token and a unit for the answer and counts it. False: nothing was taken. */
  charge(answer: ReadyAnswer, desk: CredentialHandle, nowMs: number): boolean;
}

/**
 * An address that many ask about. With its domain, which each request looks at, and where what was last answered is kept, by the scope
 * of who asked: of a thousand addresses whatever one touches comes from outside the core's own caches (20 to 100 ns for each place).
 */
export interface ReadyAddress extends Record<Scope, number> {
  readonly domain: string;
  readonly address: ParsedAddress;
  /** What these were drawn from: another entry is another answer. */
  readonly drawnFrom: Record<Scope, CacheEntry | null>;
}

/** What answers with the same verdict and reason share. */
export interface AnswerKind {
  readonly verdict: Verdict;
  readonly reason: Reason;
  readonly tally: CountCell;
}

export interface ReadyAnswer {
  readonly kind: AnswerKind;
  /** Good for the turn in which it was found: what is drawn later may take its place. */
  readonly body: Uint8Array;
}

/** A credential's places. */
export interface CredentialHandle {
  readonly rate: RateLimitHandle;
  readonly quota: QuotaHandle;
  readonly usage: UsageHandle;
  /** The value of `RateLimit-Policy`. */
  readonly policy: string;
}

/** A cached credential: it keeps its desk, so that a request need not look for it. */
export interface HandleHolder {
  readonly actor: Actor;
  /** Of `ReadyAnswers.deskOf` alone; null: nothing was asked for yet. */
  handle: CredentialHandle | null;
}

export interface ReadyAnswersDeps {
  examiner: Pick<Examiner, "isPlain" | "hold" | "evictionEpoch" | "understand" | "draw">;
  rateLimiter: Pick<RateLimiter, "handle">;
  quota: Pick<Quota, "handle">;
  usage: Pick<UsageCounter, "handle">;
  tallies: VerificationTallies;
  metrics: Metrics;
  /** As JSON. */
  render(result: VerificationResult): string;
  limits: {
    /** Of all bodies together, a power of two: what was drawn longest ago is drawn anew. */
    readyBodyBytes: number;
  };
}

class MemoisedReadyAnswers implements ReadyAnswers {
  readonly #deps: ReadyAnswersDeps;
  readonly #answers: RecordRing;
  readonly #kinds: AnswerKind[] = [];
  readonly #lookups: CountCell;

  constructor(deps: ReadyAnswersDeps) {
    this.#deps = deps;
    this.#answers = new RecordRing(deps.limits.readyBodyBytes);
    this.#lookups = deps.metrics.cacheLookups.tally({ result: "memory" });
  }

  understand(email: string): ReadyAddress | null {
    const reading = readAddresses(email);
    // The answer to a text with more in it says what that was, hence is no other's.
    if (reading.kind !== "one" || reading.unwrapped) return null;
    const { address } = reading;
    const drawnFrom = { probed: null, unprobed: null };
    return {
      probed: NO_RECORD_OFFSET,
      unprobed: NO_RECORD_OFFSET,
      domain: address.domain,
      address,
      drawnFrom,
    };
  }

  expect({ probed, unprobed }: ReadyAddress): void {
    this.#answers.prefetch(probed === NO_RECORD_OFFSET ? unprobed : probed);
  }

  find(ready: ReadyAddress, actor: Actor, nowMs: number): ReadyAnswer | null {
    if (!actor.livemode || !this.#deps.examiner.isPlain(ready.domain, actor.overlay)) return null;
    const scope = actor.limits.probing ? "probed" : "unprobed";
    let place = ready[scope];
    if (
      !this.#answers.holds(place) ||
      !this.#answers.isValid(place, nowMs, this.#deps.examiner.evictionEpoch())
    ) {
      place = this.#renew(ready, actor, scope);
      if (place === NO_RECORD_OFFSET) return null;
    }
    return { kind: this.#kinds[this.#answers.kind(place)] as AnswerKind, body: this.#answers.bytes(place) };
  }

  handleOf(holder: HandleHolder): CredentialHandle {
    const known = holder.handle;
    if (known !== null && !known.rate.isClosed() && !known.quota.isClosed()) return known;
    const { actor } = holder;
    const desk = {
      rate: this.#deps.rateLimiter.handle(actor),
      quota: this.#deps.quota.handle(actor),
      usage: this.#deps.usage.handle(actor.teamId),
      policy: policyText(actor.limits),
    };
    holder.handle = desk;
    return desk;
  }

  charge({ kind }: ReadyAnswer, { rate, quota, usage }: CredentialHandle, nowMs: number): boolean {
    if (!quota.isReady(nowMs) || !rate.take(nowMs)) return false;
    usage.count(quota.spend(nowMs), kind.verdict, true);
    this.#lookups.count += 1;
    kind.tally.count += 1;
    return true;
  }

  /** There are as many as there are rows of the table of verdicts. */
  #kindOf({ verdict, reason }: Decision): number {
    const known = this.#kinds.findIndex((kind) => kind.verdict === verdict && kind.reason === reason);
    if (known !== -1) return known;
    return this.#kinds.push({ verdict, reason, tally: this.#deps.tallies({ verdict, reason }, true) }) - 1;
  }

  /**
   * Where the answer is kept; NO_PLACE: what ends `unknown` by a failure is free, for which the general way gives the unit back,
   * and `retry_at` is drawn anew each time.
   */
  #draw({ address }: ReadyAddress, entry: CacheEntry, actor: Actor): number {
    const { teamId, limits, overlay } = actor;
    const asker = { teamId, probing: limits.probing, overlay };
    const question = this.#deps.examiner.understand(address.normalised, false, asker);
    const { decision, result } = this.#deps.examiner.draw(question, { entry, cached: true });
    const isConstant = !isUncharged(decision.reason) && result.retry_at === null;
    return isConstant
      ? this.#answers.append(this.#deps.render(result), this.#kindOf(decision))
      : NO_RECORD_OFFSET;
  }

  /** Asks memory, which says how long that need not be done again. */
  #renew(ready: ReadyAddress, actor: Actor, scope: Scope): number {
    const held = this.#deps.examiner.hold(ready.address, scope);
    const entry = held?.entry ?? null;
    const before = ready[scope];
    const isDrawn =
      ready.drawnFrom[scope] === entry && (before === NO_RECORD_OFFSET || this.#answers.holds(before));
    let place = isDrawn ? before : NO_RECORD_OFFSET;
    if (!isDrawn && entry !== null) place = this.#draw(ready, entry, actor);
    ready[scope] = place;
    ready.drawnFrom[scope] = entry;
    if (held !== undefined && place !== NO_RECORD_OFFSET)
      this.#answers.stamp(place, held.goodUntilMs, this.#deps.examiner.evictionEpoch());
    return place;
  }
}

export function createReadyAnswers(deps: ReadyAnswersDeps): ReadyAnswers {
  return new MemoisedReadyAnswers(deps);
}
