import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { RecentMap } from "../core/recent-map.ts";
import type { Actor } from "../services/actor.ts";
import type { CachedCredential } from "../services/authenticate/cache.ts";
import { limitText } from "../services/limits-view.ts";
import type {
  CredentialHandle,
  ReadyAddress,
  ReadyAnswer,
  ReadyAnswers,
} from "../services/verify/ready-answers.ts";
import type { OriginFields } from "./cors.ts";
import { readNumbers } from "./desk-numbers.ts";
import type { FieldSource } from "./framing.ts";
import { createHeadTemplate, type HeadTemplate, type RateLimitNumbers } from "./head-template.ts";
import type { RequestObserver } from "./observe.ts";
import { parseQuery } from "./query.ts";
import { type RequestIds, saneRequestId } from "./request-id.ts";
import { VerifyQuerySchema } from "./schemas.ts";
import { createSimpleRequestFields } from "./simple-request-fields.ts";
import { validate } from "./validate.ts";

export const SHORT_PATH = "/v1/verify";

export interface ShortWayDeps {
  answers: ReadyAnswers;
  credentials: {
    findCached(authorization: string, nowMs: number): CachedCredential | null;
    noteUse(credential: CachedCredential, nowMs: number): void;
  };
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
  end(body: Uint8Array): unknown;
}

/**
 * GET /v1/verify of what is ready, from uWebSockets.js' request to its response without a request, a match, a reply or a
 * promise in between. It answers as the general way would (test/integration/http/short-way.test.ts holds the two to each
 * other) or not at all.
 */
export interface ShortWay {
  /** False: nothing was done, the general way has to answer. */
  answer(response: Writer, source: Source, nowMs: number): boolean;
  /**
   * The general way has answered this query of `actor` with 200 within its call, null: nobody's. It may be answered here
   * from now on. Only a live key's is noted, which pays for each: others could crowd out what everybody asks for.
   */
  learn(rawQuery: string, actor: Actor | null): void;
}

interface Ready {
  credential: CachedCredential;
  answer: ReadyAnswer;
  desk: CredentialHandle;
}

/** What stands before the id: all fields are written with the status, see head-template.ts. */
const STATUS_AND_ID = "200 OK\r\nX-Request-Id: ";
/** As respond.ts writes them. */
const fieldsBefore = (policy: string) =>
  "\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json\r\nCache-Control: no-store" +
  `\r\nRateLimit-Policy: ${policy}\r\nRateLimit: `;

export function createShortWay(deps: ShortWayDeps): ShortWay {
  const { answers, credentials, ids, originFields } = deps;
  const queries = new RecentMap<string, ReadyAddress>(LIMITS.http.readyQueries);
  const heads = new RecentMap<string, HeadTemplate>(LIMITS.http.readyHeads);
  const finished = deps.observer.getRecorder(SHORT_PATH);
  const fields = createSimpleRequestFields(originFields !== null);
  const numbers: RateLimitNumbers = { rate: 0, rateResetS: 0, quota: 0, quotaResetS: 0 };

  /** Most who ask one after the other have the limits of their tier, and are of one origin or none. */
  let lastPolicy = "";
  let lastEnd = "";
  let lastHead = createHeadTemplate(STATUS_AND_ID, fieldsBefore(lastPolicy), ids, lastEnd);

  /** @param end the fields of the request's origin */
  function headOf(policy: string, end: string): HeadTemplate {
    if (policy === lastPolicy && end === lastEnd) return lastHead;
    const key = policy + end;
    let head = heads.get(key);
    if (head === undefined) {
      head = createHeadTemplate(STATUS_AND_ID, fieldsBefore(policy), ids, end);
      heads.set(key, head);
    }
    lastPolicy = policy;
    lastEnd = end;
    lastHead = head;
    return head;
  }

  function send(response: Writer, desk: CredentialHandle, answer: ReadyAnswer, nowMs: number): () => string {
    readNumbers(desk, nowMs, numbers);
    const theirs = saneRequestId(fields.requestId);
    const end = originFields === null ? "" : originFields(fields.origin);
    const head =
      theirs === null
        ? headOf(desk.policy, end).fill(numbers)
        : STATUS_AND_ID + theirs + fieldsBefore(desk.policy) + limitText(numbers) + end;
    response.writeStatus(head);
    response.end(answer.body);
    return theirs === null ? ids.last : () => theirs;
  }

  /** What is ready for the request; takes nothing. @throws AppError where the general way would, too */
  function prepare(source: Source, nowMs: number): Ready | null {
    // Each call into uWebSockets.js makes a text.
    const address = queries.size > 0 ? queries.get(source.getQuery() ?? "") : undefined;
    if (address === undefined) return null;
    answers.expect(address);
    if (!fields.read(source)) return null;
    const credential = credentials.findCached(fields.authorization, nowMs);
    if (credential === null) return null;
    const answer = answers.find(address, credential.actor, nowMs);
    return answer === null ? null : { credential, answer, desk: answers.handleOf(credential) };
  }

  return {
    answer(response, source, nowMs) {
      let ready: Ready | null;
      try {
        ready = prepare(source, nowMs);
      } catch (error) {
        // The general way says what is wrong to who asked.
        if (!(error instanceof AppError)) deps.log.error({ err: error }, "the short way failed");
        return false;
      } finally {
        fields.forget();
      }
      if (ready === null || !answers.charge(ready.answer, ready.desk, nowMs)) return false;
      const { credential, answer, desk } = ready;
      credentials.noteUse(credential, nowMs);
      const id = send(response, desk, answer, nowMs);
      finished(id, nowMs, credential.actor, answer);
      return true;
    },
    learn(rawQuery, actor) {
      if (actor === null || actor.isSession || !actor.livemode) return;
      if (rawQuery.length > LIMITS.http.readyQueryChars || queries.get(rawQuery) !== undefined) return;
      const { email, refresh, evidence, probe } = validate(VerifyQuerySchema, parseQuery(rawQuery), "query");
      if (refresh || evidence || !probe) return;
      const address = answers.understand(email);
      if (address !== null) queries.set(rawQuery, address);
    },
  };
}
