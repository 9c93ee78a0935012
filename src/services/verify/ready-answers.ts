import { type ParsedAddress, parseAddress } from "../../check/address.ts";
import type { Scope } from "../../check/evidence.ts";
import type { Reason, Verdict } from "../../check/verdict/table.ts";
import { isFree } from "../../check/verdict/verdict.ts";
import { ByteRing, type RingPlace } from "../../core/byte-ring.ts";
import type { Metrics } from "../../core/metrics.ts";
import type { Tally } from "../../core/tally.ts";
import type { Held } from "../../store/evidence-cache.ts";
import type { Actor } from "../actor.ts";
import { policyText } from "../limits-view.ts";
import type { Quota, QuotaDesk } from "../quota/quota.ts";
import type { RateDesk, RateLimiter } from "../rate-limit/rate-limit.ts";
import type { UsageCounter, UsageTab } from "../usage/counts.ts";
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
  /** What is ready for this asker; null: nothing. Takes nothing. */
  find(address: ReadyAddress, actor: Actor, nowMs: number): ReadyAnswer | null;
  /** @throws AppError `overloaded` when too many teams are served */
  deskOf(actor: Actor): Desk;
  /** Takes a token and a unit for the answer and counts it. False: nothing was taken. */
  charge(answer: ReadyAnswer, desk: Desk, nowMs: number): boolean;
}

/**
 * An address that many ask about, with what was last answered by the scope of who asked. With its domain, which each request
 * looks at: of a thousand addresses whatever one touches comes from outside the core's own caches (0.1 us), the address' parts
 * among it.
 */
export interface ReadyAddress extends Record<Scope, ReadyAnswer | null> {
  readonly domain: string;
  readonly address: ParsedAddress;
}

export interface ReadyAnswer extends RingPlace {
  /** What it was drawn from: another entry is another answer. */
  held: Held;
  /** Good for the turn in which it was found: what is drawn later may take its place. */
  readonly body: Uint8Array;
  readonly verdict: Verdict;
  readonly reason: Reason;
  /** Ended `unknown` by a failure: the general way gives the unit back. */
  readonly isFree: boolean;
  readonly tally: Tally;
}

/** A credential's places. */
export interface Desk {
  readonly rate: RateDesk;
  readonly quota: QuotaDesk;
  readonly usage: UsageTab;
  /** The value of `RateLimit-Policy`. */
  readonly policy: string;
}

export interface ReadyAnswersDeps {
  examiner: Pick<Examiner, "isPlain" | "hold" | "understand" | "draw">;
  rateLimiter: Pick<RateLimiter, "desk">;
  quota: Pick<Quota, "desk">;
  usage: Pick<UsageCounter, "tab">;
  tallies: VerificationTallies;
  metrics: Metrics;
  /** As JSON. */
  render(result: VerificationResult): string;
  limits: {
    /** Of all bodies together: what was drawn longest ago is drawn anew. */
    readyBodyBytes: number;
  };
}

export function createReadyAnswers(deps: ReadyAnswersDeps): ReadyAnswers {
  const { examiner } = deps;
  /** By the actor, which lives as long as its credential's cached entry. */
  const desks = new WeakMap<Actor, Desk>();
  const bodies = new ByteRing(deps.limits.readyBodyBytes);
  const lookups = deps.metrics.cacheLookups.tally({ result: "memory" });

  function draw({ address }: ReadyAddress, held: Held, actor: Actor): ReadyAnswer {
    const { teamId, limits, overlay } = actor;
    const asker = { teamId, probing: limits.probing, overlay };
    const question = examiner.understand(address.normalised, false, asker);
    const { decision, result } = examiner.draw(question, { entry: held.entry, cached: true });
    const free = isFree(decision.reason);
    // What is free is never sent from here.
    const { bytes: body, lap, from } = bodies.keep(free ? "" : deps.render(result));
    return {
      held,
      body,
      lap,
      from,
      verdict: decision.verdict,
      reason: decision.reason,
      isFree: free,
      tally: deps.tallies(decision, true),
    };
  }

  /** Asks memory, which says how long that need not be done again. */
  function renew(ready: ReadyAddress, actor: Actor, scope: Scope): ReadyAnswer | null {
    const held = examiner.hold(ready.address, scope);
    const before = ready[scope];
    if (held === undefined) ready[scope] = null;
    else if (before !== null && before.held.entry === held.entry && bodies.holds(before)) before.held = held;
    else ready[scope] = draw(ready, held, actor);
    return ready[scope];
  }

  /** As far as can be told without asking memory. */
  const isGood = (answer: ReadyAnswer, nowMs: number) =>
    !answer.held.over && nowMs < answer.held.goodUntilMs && bodies.holds(answer);

  return {
    understand(email) {
      const parsed = parseAddress(email);
      if (!parsed.ok) return null;
      const { address } = parsed;
      return { domain: address.domain, address, probed: null, unprobed: null };
    },
    find(ready, actor, nowMs) {
      if (!actor.livemode || !examiner.isPlain(ready.domain, actor.overlay)) return null;
      const scope = actor.limits.probing ? "probed" : "unprobed";
      let answer = ready[scope];
      if (answer === null || !isGood(answer, nowMs)) answer = renew(ready, actor, scope);
      return answer === null || answer.isFree ? null : answer;
    },
    deskOf(actor) {
      const known = desks.get(actor);
      if (known !== undefined && !known.rate.isClosed() && !known.quota.isClosed()) return known;
      const desk = {
        rate: deps.rateLimiter.desk(actor),
        quota: deps.quota.desk(actor),
        usage: deps.usage.tab(actor.teamId),
        policy: policyText(actor.limits),
      };
      desks.set(actor, desk);
      return desk;
    },
    charge(answer, { rate, quota, usage }, nowMs) {
      if (!quota.isReady(nowMs) || !rate.take(nowMs)) return false;
      usage.count(quota.spend(nowMs), answer.verdict, true);
      lookups.count += 1;
      answer.tally.count += 1;
      return true;
    },
  };
}
