import { defaultLimitsOf, type Mta } from "../wire/mta.ts";
import type { SitePolicy } from "../wire/policy.ts";
import type { BatchProgress, TransactionEnd } from "./batch.ts";
import type { LearnedSiteLimits } from "./learned-site-limits.ts";
import type { PipelineDepth } from "./pipeline-depth.ts";
import {
  isRecipientLimit,
  type LimitHit,
  maxRejectionsOf,
  maxTransactionsOf,
  type SessionAllowance,
} from "./session-limits.ts";

/** The knowledge of a session's host about limits. */
export interface SessionUseOwner {
  readonly policy: SitePolicy;
  readonly depth: PipelineDepth;
  /** Maximum transactions in one write, at best. */
  readonly depthMax: number;
  readonly learned: LearnedSiteLimits;
}

export const isRejection = (end: TransactionEnd) => end.kind === "reply" && end.reply.code >= 400;

const isOverRecipients = (end: TransactionEnd) => end.kind === "reply" && isRecipientLimit(end.reply);

/** A session's progress towards the limits of its site and servers, and the lessons from it. */
export class SessionUse {
  /** Finished transactions. */
  served = 0;
  /** Finished transactions that were rejected. */
  rejections = 0;
  readonly #owner: SessionUseOwner;
  /** Replies are late. */
  #isSlow = false;
  /** When this session may try more than is known to work. */
  #trialAllowance: SessionAllowance = { transactions: 0, rejections: 0 };

  constructor(owner: SessionUseOwner) {
    this.#owner = owner;
  }

  get isSlow(): boolean {
    return this.#isSlow;
  }

  onGreeted(mta: Mta | null, now: number): void {
    const { learned, policy } = this.#owner;
    learned.limits.onGreeted(defaultLimitsOf(mta), policy, now);
    this.#trialAllowance = learned.limits.takeTrialAllowance(now);
  }

  /** With the progress of the current write, the session is further than any before it. */
  isBeyondKnown(progress: BatchProgress): boolean {
    const { rejections } = this.#owner.learned.limits;
    return (
      this.#trialAllowance.rejections > rejections && this.rejections + progress.rejections >= rejections
    );
  }

  /** Transactions left before a limit of the site or its servers. */
  remaining(): number {
    const { learned, policy } = this.#owner;
    const known = Math.max(learned.limits.transactions, this.#trialAllowance.transactions);
    const transactions = Math.min(maxTransactionsOf(policy), known) - this.served;
    return Math.min(transactions, this.maxRejections() - this.rejections);
  }

  /** Maximum rejections of this session. */
  maxRejections(): number {
    const { learned, policy } = this.#owner;
    return Math.min(
      maxRejectionsOf(policy),
      Math.max(learned.limits.rejections, this.#trialAllowance.rejections),
    );
  }

  /** Called before its writes become small: the session may be allowed to go beyond the counts that have worked so far. */
  extend(now: number): void {
    const { depth, learned } = this.#owner;
    if (this.#isSlow || this.remaining() >= depth.current) return;
    const more = learned.limits.extend(this.served, this.rejections, depth.current, now);
    this.#trialAllowance = {
      transactions: Math.max(this.#trialAllowance.transactions, more.transactions),
      rejections: Math.max(this.#trialAllowance.rejections, more.rejections),
    };
  }

  /**
   * Learns from a completed batch.
   * @returns true: the session hit a limit and must be closed
   */
  learnFromBatch(ends: readonly TransactionEnd[], late: BatchProgress | null, now: number): boolean {
    const { depth, depthMax, learned, policy } = this.#owner;
    const written = ends.length;
    const over = ends.findIndex(isOverRecipients);
    if (over >= 0) {
      const transactions = this.served + over;
      const rejections = this.rejections + ends.slice(0, over).filter(isRejection).length;
      // The server counted it one by one, whatever the write held.
      const hit = { transactions, rejections, written: 1, reason: null };
      depth.recordBreak(written, learned.limits.recordHit(hit, now), now);
      return true;
    }
    depth.recordSuccess(written, depthMax, now);
    const isHit = late !== null && !this.#isSlow && this.#learnFromLateReply(late, written, now);
    if (this.#isSlow || !learned.limits.isKnown) return isHit;
    const rejections = this.rejections + ends.filter(isRejection).length;
    learned.limits.recordSuccess(this.served + written, rejections, policy, now);
    return false;
  }

  /** A fast session became slow. A session that always was slow teaches nothing. */
  #learnFromLateReply(late: BatchProgress, written: number, now: number): boolean {
    this.#isSlow = true;
    const transactions = this.served + late.transactions;
    const rejections = this.rejections + late.rejections;
    const hit = { transactions, rejections, written, reason: "slow" } as const;
    return this.#owner.learned.limits.recordHit(hit, now);
  }

  /** Learns from a session that ended during a batch of `written` transactions. */
  learnFromEnd(progress: BatchProgress, written: number, reason: LimitHit["reason"], now: number): void {
    const { depth, learned } = this.#owner;
    const transactions = this.served + progress.transactions;
    const rejections = this.rejections + progress.rejections;
    const hit = { transactions, rejections, written, reason };
    depth.recordBreak(written, learned.limits.recordHit(hit, now), now);
  }
}
