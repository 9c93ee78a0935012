import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Actor } from "../services/actor.ts";
import type { CachedCredential } from "../services/authenticate/cache.ts";
import type { Entrance } from "../services/verify/entrance.ts";
import type { VerifyInput } from "../services/verify/verify-input.ts";
import type { FieldSource } from "./framing.ts";
import type { RequestObserver } from "./observe.ts";
import { createPlainFields } from "./plain-fields.ts";
import { formOf, problemReply } from "./problem.ts";
import { parseQuery } from "./query.ts";
import { statusLine } from "./reply.ts";
import { type RequestIds, saneRequestId } from "./request-id.ts";
import { fieldsAfterRequestId, type RateLimitFields, type ResponseWriter } from "./respond.ts";
import { inputOf } from "./routes/verify.ts";
import { VerifyQuerySchema } from "./schemas.ts";
import { SHORT_PATH } from "./short-way.ts";
import { validate } from "./validate.ts";

export interface ShortRefusalDeps {
  entrance: Pick<Entrance, "mayRefuse" | "refusal">;
  credentials: {
    known(authorization: string, nowMs: number): CachedCredential | null;
    use(credential: CachedCredential, nowMs: number): void;
  };
  /** What every answer to the actor says of its limits. */
  rateLimitHeaders(actor: Actor): RateLimitFields | null;
  clock: Clock;
  log: Logger;
  observer: RequestObserver;
  ids: RequestIds;
}

interface Source extends FieldSource {
  getQuery(): string;
}

/**
 * GET /v1/verify that is refused, from uWebSockets.js' request to its response without a request, a reply or a promise in
 * between: as the general way would (test/integration/http/short-refusal.test.ts holds the two to each other) or not at all.
 * While nobody is refused, it costs one look.
 */
export interface ShortRefusal {
  /** False: nothing was done, the general way has to answer. */
  refuse(response: ResponseWriter, source: Source): boolean;
}

/** null: the general way says what is wrong with it. */
function readInput(rawQuery: string): VerifyInput | null {
  try {
    return inputOf(validate(VerifyQuerySchema, parseQuery(rawQuery), "query"));
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** What an answer with an error says in its fields before the value of `RateLimit`, and behind it: as respond.ts writes them. */
interface Fields {
  policy: string;
  before: string;
  behind: string;
}

/** Where the value of `RateLimit` will stand. */
const MARK = "<limit>";

/** By what is thrown: one error refuses thousands, mostly of one policy. */
const said = new WeakMap<AppError, Fields>();

function fieldsOf(error: AppError, { policy }: RateLimitFields): Fields {
  const known = said.get(error);
  if (known?.policy === policy) return known;
  const reply = problemReply(error, "");
  const block = fieldsAfterRequestId(reply, { rate: { policy, limit: MARK }, cors: "" });
  const at = block.indexOf(MARK);
  const made = { policy, before: block.slice(0, at), behind: block.slice(at + MARK.length) };
  said.set(error, made);
  return made;
}

export function createShortRefusal(deps: ShortRefusalDeps): ShortRefusal {
  const { entrance, credentials, clock, ids } = deps;
  const fields = createPlainFields();
  /** Of the request in hand: who is refused, and what was said of its id. One call judges and answers. */
  let refused: CachedCredential | null = null;
  let requestId: string | null = null;

  /** What it is refused with; takes nothing. */
  function judge(source: Source, nowMs: number): AppError | null {
    const rawQuery = source.getQuery() ?? "";
    if (rawQuery.length > LIMITS.http.readyQueryChars) return null;
    refused = fields.read(source) ? credentials.known(fields.authorization, nowMs) : null;
    fields.forget();
    if (refused === null) return null;
    requestId = saneRequestId(fields.requestId);
    return entrance.refusal(refused.actor, nowMs, () => readInput(rawQuery));
  }

  /** Three calls into uWebSockets.js and no object but for what the log may want: half of what a reply costs. */
  function answer(
    response: ResponseWriter,
    actor: Actor,
    error: AppError,
    rate: RateLimitFields,
    startedMs: number,
  ): void {
    const id = requestId ?? ids.next();
    const { start, end } = formOf(error);
    const { before, behind } = fieldsOf(error, rate);
    const body = `${start}"${id}"${end}`;
    response.writeStatus(statusLine(error.status));
    response.writeHeader("X-Request-Id", id + before + rate.limit + behind);
    response.end(body, false);
    const outcome = { status: error.status, bytes: body.length, code: error.code, headMs: null };
    deps.observer.finished({ id, method: "GET", startedMs, actor }, SHORT_PATH, outcome);
  }

  return {
    refuse(response, source) {
      const nowMs = clock.monotonic();
      if (!entrance.mayRefuse(nowMs)) return false;
      let error: AppError | null;
      let rate: RateLimitFields | null = null;
      try {
        error = judge(source, nowMs);
        if (error !== null && refused !== null) rate = deps.rateLimitHeaders(refused.actor);
      } catch (failure) {
        // The general way says it to who asked.
        if (!(failure instanceof AppError))
          deps.log.error({ err: failure }, "the short way to refusals failed");
        return false;
      }
      if (error === null || refused === null || rate === null) return false;
      credentials.use(refused, nowMs);
      answer(response, refused.actor, error, rate, nowMs);
      refused = null;
      return true;
    },
  };
}
