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
import { problemReply } from "./problem.ts";
import { parseQuery } from "./query.ts";
import { type RequestIds, saneRequestId } from "./request-id.ts";
import { bodyBytes, type RateLimitFields, type ResponseWriter, writeReply } from "./respond.ts";
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
function inputOf(rawQuery: string): VerifyInput | null {
  try {
    const { email, refresh, evidence } = validate(VerifyQuerySchema, parseQuery(rawQuery), "query");
    return { email, refresh, withEvidence: evidence };
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

interface Refused {
  credential: CachedCredential;
  error: AppError;
  rate: RateLimitFields | null;
  requestId: string | null;
}

export function createShortRefusal(deps: ShortRefusalDeps): ShortRefusal {
  const { entrance, credentials, clock, ids } = deps;
  const readFields = createPlainFields();

  /** What is refused, to whom; takes nothing. */
  function judge(source: Source, nowMs: number): Refused | null {
    const rawQuery = source.getQuery() ?? "";
    const fields = rawQuery.length > LIMITS.http.readyQueryChars ? null : readFields(source);
    if (fields === null) return null;
    const credential = credentials.known(fields.authorization, nowMs);
    // A secret that nothing needs any more.
    fields.authorization = "";
    if (credential === null) return null;
    const { actor } = credential;
    const error = entrance.refusal(actor, nowMs, () => inputOf(rawQuery));
    if (error === null) return null;
    return {
      ...{ credential, error },
      rate: deps.rateLimitHeaders(actor),
      requestId: saneRequestId(fields.requestId),
    };
  }

  function answer(response: ResponseWriter, refused: Refused, startedMs: number): void {
    const { rate, error, credential } = refused;
    const id = refused.requestId ?? ids.next();
    const reply = problemReply(error, id);
    writeReply(response, reply, { requestId: id, rate, cors: "", headOnly: false, close: false });
    const outcome = { status: reply.status, bytes: bodyBytes(reply), code: reply.code, headMs: null };
    const observed = { id, method: "GET", startedMs, actor: credential.actor };
    deps.observer.finished(observed, SHORT_PATH, outcome);
  }

  return {
    refuse(response, source) {
      const nowMs = clock.monotonic();
      if (!entrance.mayRefuse(nowMs)) return false;
      let refused: Refused | null;
      try {
        refused = judge(source, nowMs);
      } catch (error) {
        deps.log.error({ err: error }, "the short way to refusals failed");
        return false;
      }
      if (refused === null) return false;
      credentials.use(refused.credential, nowMs);
      answer(response, refused, nowMs);
      return true;
    },
  };
}
