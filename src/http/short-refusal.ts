import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { RecentMap } from "../core/recent-map.ts";
import type { Actor } from "../services/actor.ts";
import type { CachedCredential } from "../services/authenticate/cache.ts";
import type { EarlyAdmission } from "../services/verify/early-admission.ts";
import type { CredentialHandle, ReadyAnswers } from "../services/verify/ready-answers.ts";
import type { VerifyInput } from "../services/verify/verify-input.ts";
import type { OriginFields } from "./cors.ts";
import { readNumbers } from "./desk-numbers.ts";
import type { FieldSource } from "./framing.ts";
import type { RateLimitNumbers } from "./head-template.ts";
import type { RequestObserver } from "./observe.ts";
import { parseQuery } from "./query.ts";
import { createRefusalForm, type RefusalForm } from "./refusal-form.ts";
import { type RequestIds, saneRequestId } from "./request-id.ts";
import { verifyInputOf } from "./routes/verify.ts";
import { VerifyQuerySchema } from "./schemas.ts";
import { SHORT_PATH } from "./short-way.ts";
import { createSimpleRequestFields } from "./simple-request-fields.ts";
import { validate } from "./validate.ts";

export interface ShortRefusalDeps {
  entrance: Pick<EarlyAdmission, "mayRefuse" | "refusal">;
  credentials: {
    findCached(authorization: string, nowMs: number): CachedCredential | null;
    noteUse(credential: CachedCredential, nowMs: number): void;
  };
  answers: Pick<ReadyAnswers, "handleOf">;
  log: Logger;
  observer: RequestObserver;
  ids: RequestIds;
  /** null: pages of other origins may not call, and nothing is said of origins. */
  originFields: OriginFields | null;
}

interface Source extends FieldSource {
  getQuery(): string;
}

interface Writer {
  writeStatus(status: string | Uint8Array): unknown;
  end(body: string | Uint8Array): unknown;
}

/**
 * GET /v1/verify that is refused, from uWebSockets.js' request to its response without a request, a reply or a promise in
 * between: as the general way would (test/integration/http/short-refusal.test.ts holds the two to each other) or not at all; but for a
 * house that is swamped, which refuses without finding out what is asked. While nobody is refused, it costs one look.
 */
export interface ShortRefusal {
  /** False: nothing was done, the general way has to answer. */
  refuse(response: Writer, source: Source, nowMs: number): boolean;
}

/** null: the general way says what is wrong with it. */
function readInput(rawQuery: string): VerifyInput | null {
  try {
    return verifyInputOf(validate(VerifyQuerySchema, parseQuery(rawQuery), "query"));
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

export function createShortRefusal(deps: ShortRefusalDeps): ShortRefusal {
  const { entrance, credentials, answers, ids, originFields } = deps;
  const fields = createSimpleRequestFields(originFields !== null);
  const finished = deps.observer.refusedGetRecorder(SHORT_PATH);
  /** By what is thrown, which refuses thousands, then by policy and origin. */
  const forms = new WeakMap<AppError, RecentMap<string, RefusalForm>>();
  const numbers: RateLimitNumbers = { rate: 0, rateResetS: 0, quota: 0, quotaResetS: 0 };
  /** Of the request in hand: who is refused, and what was said of its id. One call judges and answers. */
  let refused: CachedCredential | null = null;
  let desk: CredentialHandle | null = null;
  let requestId: string | null = null;

  /** What it is refused with; takes nothing. Test keys have no quota to tell of, and are left to the general way. */
  function judge(source: Source, nowMs: number): AppError | null {
    const rawQuery = source.getQuery() ?? "";
    if (rawQuery.length > LIMITS.http.readyQueryChars) return null;
    refused = fields.read(source) ? credentials.findCached(fields.authorization, nowMs) : null;
    fields.forget();
    if (refused === null || !refused.actor.livemode) return null;
    requestId = saneRequestId(fields.requestId);
    const error = entrance.refusal(refused.actor, nowMs, () => readInput(rawQuery));
    if (error !== null) desk = answers.handleOf(refused);
    return error;
  }

  function formFor(error: AppError, { policy }: CredentialHandle): RefusalForm {
    let ofError = forms.get(error);
    if (ofError === undefined) {
      ofError = new RecentMap(LIMITS.http.readyHeads);
      forms.set(error, ofError);
    }
    const cors = originFields === null ? "" : originFields(fields.origin);
    const key = policy + cors;
    let form = ofError.get(key);
    if (form === undefined) {
      form = createRefusalForm(error, { policy, cors }, ids);
      ofError.set(key, form);
    }
    return form;
  }

  /** Two calls into uWebSockets.js and no string: see head-template.ts. */
  function answer(
    response: Writer,
    actor: Actor,
    at: CredentialHandle,
    error: AppError,
    startedMs: number,
  ): void {
    const form = formFor(error, at);
    const theirs = requestId;
    readNumbers(at, startedMs, numbers);
    response.writeStatus(theirs === null ? form.head(numbers) : form.headFor(theirs, numbers));
    const body = theirs === null ? form.body() : form.bodyFor(theirs);
    response.end(body);
    finished(theirs === null ? ids.last : () => theirs, startedMs, actor, error, body.length);
  }

  return {
    refuse(response, source, nowMs) {
      if (!entrance.mayRefuse(nowMs)) return false;
      let error: AppError | null;
      try {
        error = judge(source, nowMs);
      } catch (failure) {
        // The general way says it to who asked.
        if (!(failure instanceof AppError))
          deps.log.error({ err: failure }, "the short way to refusals failed");
        return false;
      }
      if (error === null || refused === null || desk === null) return false;
      credentials.noteUse(refused, nowMs);
      answer(response, refused.actor, desk, error, nowMs);
      refused = null;
      desk = null;
      return true;
    },
  };
}
