import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import type { Classification, ClassifyContext } from "./classify/classify.ts";
import { delayOf } from "./classify/delay.ts";
import { classifyFor, commonReading, mayContainLocalPart, redactedReplyFor } from "./classify/reading.ts";
import type { SmtpEvidence } from "./evidence.ts";

/** What evidence keeps of the end of a probe, whatever else is known: the same for all addresses that get the same answer. */
export type ReplyEvidence = Omit<SmtpEvidence, "trusted" | "latencyMs" | "catchAll">;

type Replied = Extract<RcptOutcome, { kind: "reply" }>;

/**
 * Of a way; servers say a handful of things over and over. Each takes 1.2 KB at most: only what the parser hands out again is
 * learnt, which is short (`ReplyCache`).
 */
const READINGS_MAX = 8;

interface KnownReading {
  outcome: Replied;
  context: ClassifyContext;
  ruling: Classification;
  said: ReplyEvidence;
  /** What was kept, lower case: an address with its local part in it needs a reading of its own. */
  lower: string;
}

export function replyEvidenceOf(
  outcome: RcptOutcome,
  ruling: Classification,
  context: ClassifyContext,
  address: string,
): ReplyEvidence {
  const reply = outcome.kind === "reply" ? outcome.reply : null;
  return {
    class: ruling.class,
    fault: ruling.fault,
    stage: outcome.stage,
    code: reply?.code ?? 0,
    enhancedCode: reply?.enhanced ?? null,
    reply: outcome.kind === "reply" ? redactedReplyFor(outcome, context, address) : outcome.detail,
    rule: ruling.rule,
    mxHost: outcome.host,
    path: outcome.path,
    retryAfterS: reply ? delayOf(reply, ruling.class) : null,
    tls: outcome.tls,
  };
}

/**
 * What a host's replies were read as, for as long as its domain's plan lives. A memory of pure functions: what the parser
 * hands out again is known by its identity, and nothing of it is looked up, searched or built anew.
 */
export class ReplyReadings {
  readonly #readings: KnownReading[] = [];
  /** The place of the next one: those with an id in them come once, and must not keep out what is said to all. */
  #next = 0;

  /** @returns what the reply means, and what is kept of it; null: that has to be found for this address by itself */
  read(
    outcome: Replied,
    context: ClassifyContext,
    { address, local }: { address: string; local: string },
  ): { ruling: Classification; said: ReplyEvidence | null } {
    const known = this.#find(outcome, context);
    if (known !== null)
      return mayContainLocalPart(known.lower, local) ? { ruling: known.ruling, said: null } : known;
    const ruling = classifyFor(outcome, context, address);
    return this.#learn(outcome, context, ruling, { address, local }) ?? { ruling, said: null };
  }

  #find(
    { reply, stage, tls, host, path }: Replied,
    { provider, self }: ClassifyContext,
  ): KnownReading | null {
    for (const saying of this.#readings) {
      const { outcome, context } = saying;
      if (outcome.reply !== reply || outcome.stage !== stage || outcome.tls !== tls) continue;
      if (outcome.host !== host || outcome.path !== path) continue;
      if (context.provider === provider && context.self === self) return saying;
    }
    return null;
  }

  #learn(
    outcome: Replied,
    context: ClassifyContext,
    ruling: Classification,
    { address, local }: { address: string; local: string },
  ): KnownReading | null {
    const reading = commonReading(outcome, context);
    if (reading === null || mayContainLocalPart(reading.lower, local)) return null;
    const said = Object.freeze(replyEvidenceOf(outcome, ruling, context, address));
    const saying = { outcome, context, ruling, said, lower: reading.lower };
    this.#readings[this.#next] = saying;
    this.#next = (this.#next + 1) % READINGS_MAX;
    return saying;
  }
}
