import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import type { Classification, ClassifyContext } from "./classify/classify.ts";
import { delayOf } from "./classify/delay.ts";
import { classifyFor, commonReading, mayContainLocalPart, redactedReplyFor } from "./classify/reading.ts";
import type { SmtpEvidence } from "./evidence.ts";

/** Evidence of a probe's end, without other knowledge: the same for all addresses with the same answer. */
export type ReplyEvidence = Omit<SmtpEvidence, "trusted" | "latencyMs" | "catchAll">;

type Replied = Extract<RcptOutcome, { kind: "reply" }>;

/**
 * Maximum readings of a route: servers repeat a few replies. Each takes 1.2 KB at most, since only cached replies of the
 * parser are learned, which are short (`ReplyCache`).
 */
const READINGS_MAX = 8;

interface KnownReading {
  outcome: Replied;
  context: ClassifyContext;
  ruling: Classification;
  said: ReplyEvidence;
  /** The kept reply, lower case: an address whose local part it contains needs a reading of its own. */
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
 * Caches the readings of a host's replies while its domain's plan lives. A cache of pure functions: a reply object from the
 * parser's cache is found by identity, without any look-up, search or copy.
 */
export class ReplyReadings {
  readonly #readings: KnownReading[] = [];
  /**
   * Index of the next reading. Old ones are overwritten: replies with an id come once, and must not keep out the common
   * ones.
   */
  #next = 0;

  /** @returns the reply's meaning, and its evidence; null: the evidence must be computed for this address */
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
    for (const reading of this.#readings) {
      const { outcome, context } = reading;
      if (outcome.reply !== reply || outcome.stage !== stage || outcome.tls !== tls) continue;
      if (outcome.host !== host || outcome.path !== path) continue;
      if (context.provider === provider && context.self === self) return reading;
    }
    return null;
  }

  #learn(
    outcome: Replied,
    context: ClassifyContext,
    ruling: Classification,
    { address, local }: { address: string; local: string },
  ): KnownReading | null {
    const common = commonReading(outcome, context);
    if (common === null || mayContainLocalPart(common.lower, local)) return null;
    const said = Object.freeze(replyEvidenceOf(outcome, ruling, context, address));
    const reading = { outcome, context, ruling, said, lower: common.lower };
    this.#readings[this.#next] = reading;
    this.#next = (this.#next + 1) % READINGS_MAX;
    return reading;
  }
}
