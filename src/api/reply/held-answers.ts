import { LIMITS } from "../../config/limits/limits.ts";
import { shareKey } from "../../features/identity/actor.ts";
import { AppError } from "../../platform/errors.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { type BodyAccount, type BudgetLimits, createBodyBudget } from "../body/body-budget.ts";
import { type BodyPace, createBodyPace, type PacedBody, type PaceLimits } from "../body/body-pace.ts";
import type { HttpRequest } from "../request/request.ts";
import type { HttpReply } from "./reply.ts";

export type HeldAnswerLimits = BudgetLimits & { pace: PaceLimits };

/** The copy of a large answer, in memory until its client has taken it. */
export class HeldAnswer {
  readonly #account: BodyAccount;
  readonly #bytes: number;
  readonly #pace: BodyPace;
  #paced: PacedBody | null = null;
  #sent = 0;

  constructor(account: BodyAccount, bytes: number, pace: BodyPace) {
    this.#account = account;
    this.#bytes = bytes;
    this.#pace = pace;
  }

  /** It is being sent. @param tooSlow called once, when the client takes it too slowly */
  started(tooSlow: () => void): void {
    this.#paced = this.#pace.watch(tooSlow);
  }

  sentUpTo(offset: number): void {
    this.#paced?.received(offset - this.#sent);
    this.#sent = offset;
  }

  /** Called once: it was taken, or the client has gone. */
  ended(): void {
    this.#paced?.ended();
    this.#account.giveBack(this.#bytes);
  }
}

/** Bytes that are copied to send them; 0: the answer fits the buffers of any connection, or all clients share its bytes. */
function copiedBytes({ body }: HttpReply): number {
  return typeof body === "string" && body.length > LIMITS.http.bufferedBytes ? Buffer.byteLength(body) : 0;
}

/** One for all, since its document is then written once. */
const NOT_READ = new AppError(
  "overloaded",
  "Too many large answers wait for their clients to read them. Read those that are under way, or ask for smaller pages.",
  { retryAfterS: 1 },
);

/**
 * The large answers of a process, each held for its client: within a budget of memory, of which a team has a share, and at a
 * minimum pace. uWebSockets.js cuts off a client that takes nothing, but not one that takes a little now and then: one key
 * could hold 1.3 MB for each request that it made.
 */
export function createHeldAnswers(clock: Clock, limits: HeldAnswerLimits) {
  const budget = createBodyBudget(limits);
  const pace = createBodyPace(clock, limits.pace);
  return {
    /**
     * @returns null: the answer needs no memory of its own
     * @throws AppError `overloaded`, for a read. What may have changed something was done: its client must get the answer, and what
     *   that takes over the limits is missing for the share's next reads.
     */
    hold(reply: HttpReply, { actor, method }: Pick<HttpRequest, "actor" | "method">): HeldAnswer | null {
      const bytes = copiedBytes(reply);
      if (bytes === 0) return null;
      // Without a credential there are no long texts, only bytes that all clients share.
      const account = budget.accountOf(actor === null ? "" : shareKey(actor));
      if (method !== "GET") account.charge(bytes);
      else if (!account.take(bytes)) throw NOT_READ;
      return new HeldAnswer(account, bytes, pace);
    },
  };
}

export type HeldAnswers = ReturnType<typeof createHeldAnswers>;
