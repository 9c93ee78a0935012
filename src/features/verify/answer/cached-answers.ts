import { LRUCache } from "lru-cache";
import { upTo } from "../../../platform/lru.ts";
import { RenderedJson } from "../../../platform/rendered-json.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Scope } from "../../../verification/evidence.ts";
import { isUncharged } from "../../../verification/verdict/verdict.ts";
import type { Actor } from "../../identity/actor.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { AddressQuestion } from "./address-question.ts";
import { CachedAnswer } from "./answer-note.ts";
import type { Examiner } from "./examine.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerificationTallies } from "./verification-tallies.ts";
import type { VerifyInput } from "./verify-input.ts";

/**
 * Answers that were rendered before, by the text that was asked about: a memo of what `Examiner` would find and answer
 * anew. It keeps no truth of its own: each answer belongs to one entry of the evidence
 * cache and is good for as long as that is; blocklists and overrides are the actor's, asked each time.
 */
export interface CachedAnswers {
  /** null: none is kept, or the answer is of another kind. Counts nothing. */
  find(input: VerifyInput, actor: Actor): CachedAnswer | null;
  /** A question that was answered from the cache, and how: the same text is likely to be asked again. */
  remember(question: AddressQuestion, result: VerificationResult): void;
}

/** An address by its text, with the last answer of each scope. */
interface KnownAddress extends Record<Scope, CachedAnswer | null> {
  readonly address: ParsedAddress;
}

export interface CachedAnswersDeps {
  examiner: Pick<Examiner, "isPlain" | "peek" | "understand" | "answer">;
  tallies: VerificationTallies;
  limits: { cachedAnswers: number };
}

/**
 * True unless it changes by itself: failures are free of charge, and `retry_at` moves on. Those are computed for each
 * request.
 */
function isConstant({ reason, retry_at: retryAt }: VerificationResult): boolean {
  return !isUncharged(reason) && retryAt === null;
}

export function createCachedAnswers({ examiner, tallies, limits }: CachedAnswersDeps): CachedAnswers {
  const addresses = new LRUCache<string, KnownAddress>(upTo(limits.cachedAnswers));

  function answerFor({ address }: KnownAddress, entry: CacheEntry, actor: Actor): CachedAnswer | null {
    const { teamId, limits, overlay } = actor;
    const asker = { teamId, probing: limits.probing, overlay };
    const question = examiner.understand(address.normalised, false, asker);
    const { decision, result } = examiner.answer(question, { entry, cached: true });
    if (!isConstant(result)) return null;
    const json = new RenderedJson(new TextEncoder().encode(JSON.stringify(result)));
    return new CachedAnswer(entry, result, json, tallies(decision, true));
  }

  return {
    find(input, actor) {
      if (input.refresh || input.withEvidence || !input.probe || !actor.livemode) return null;
      const known = addresses.get(input.email);
      if (known === undefined || !examiner.isPlain(known.address.domain, actor.overlay)) return null;
      const scope = actor.limits.probing ? "probed" : "unprobed";
      const entry = examiner.peek(known.address, scope);
      if (entry === undefined) known[scope] = null;
      else if (known[scope]?.entry !== entry) known[scope] = answerFor(known, entry, actor);
      return known[scope];
    },
    remember({ email, address, unwrapped, overridden, withEvidence, declined }, result) {
      if (address === null || unwrapped || overridden || withEvidence || declined === true) return;
      if (!isConstant(result)) return;
      if (addresses.get(email) === undefined) addresses.set(email, { address, probed: null, unprobed: null });
    },
  };
}
