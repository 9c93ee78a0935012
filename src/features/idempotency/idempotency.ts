import { createHash, randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import {
  claimIdempotencyKey,
  completeIdempotencyKey,
  evictIdempotencyKeys,
  type IdempotencyClaim,
  type IdempotencyKeyState,
  readIdempotencyKey,
  releaseIdempotencyKey,
  type StoredResponse,
} from "./idempotency-sql.ts";
import { createIdempotencyWrites } from "./idempotency-writes.ts";

/**
 * `Idempotency-Key` (IETF httpapi draft): a request that may have been lost can be sent again without being done twice. The
 * key belongs to the team, separately for live and test mode.
 *
 * It is claimed before the work starts, by one statement, and settled with the answer after it; of any number of concurrent
 * requests exactly one works. The work and the settling are two transactions. The process may die between them, or Postgres
 * may become unreachable for long. Then the key is free again once its lease has ended, and a request sent after that is
 * done again. Within the lease it is refused, since the first is still running.
 */
export interface Idempotency {
  /**
   * @throws AppError `bad_request` for a malformed key; `idempotency_mismatch`, `idempotency_in_flight`; `overloaded` when
   *   more of the team's keys are in progress than are stored; `unavailable` without Postgres: nothing has been done then
   */
  begin(request: KeyedRequest): Promise<KeyedAttempt | Replay>;
  /** Tries once more to write what could not be written. */
  drain(): Promise<void>;
}

export interface KeyedRequest {
  teamId: string;
  livemode: boolean;
  /** The header's value as sent. */
  key: string;
  method: string;
  /** Path of the request, with its query. */
  target: string;
  body: Uint8Array;
}

/** The first: do it, then call one of these. Neither rejects, nor waits for a Postgres that is away. */
export interface KeyedAttempt {
  /** The answer is final. */
  settle(answer: StoredResponse): Promise<void>;
  /** Nothing was done, or it is not known: another try may do it. */
  release(): Promise<void>;
}

export interface Replay {
  replay: StoredResponse;
}

const KEY = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotency.keyChars}}$`);

function sha256(...parts: (string | Uint8Array)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** A large body's in pieces, other work in between. */
async function fingerprintOf({ method, target, body }: KeyedRequest): Promise<Buffer> {
  const { hashedAtOnceBytes } = LIMITS.http.bodies;
  const hash = createHash("sha256").update(`${method} ${target}\n`);
  for (let from = 0; from < body.length; from += hashedAtOnceBytes) {
    if (from > 0) await turn();
    hash.update(body.subarray(from, from + hashedAtOnceBytes));
  }
  return hash.digest();
}

async function claimOf(request: KeyedRequest): Promise<IdempotencyClaim> {
  return {
    teamId: request.teamId,
    livemode: request.livemode,
    keyHash: sha256(request.livemode ? "live " : "test ", request.key),
    fingerprint: await fingerprintOf(request),
    claim: randomUUID(),
  };
}

function refusal(state: Exclude<IdempotencyKeyState["state"], "kept">): AppError {
  if (state === "other")
    return new AppError(
      "idempotency_mismatch",
      "This Idempotency-Key came with another body, or to another path. Use a new key for a new request.",
    );
  if (state === "running" || state === "free")
    return new AppError("idempotency_in_flight", "The first request with this Idempotency-Key is running.", {
      retryAfterS: 1,
    });
  return new AppError("overloaded", "Too many of the team's requests with Idempotency-Keys are running.", {
    retryAfterS: 1,
  });
}

export interface IdempotencyDeps {
  sql: Database;
  clock: Clock;
  log: Logger;
  /** From 0 to 1, exclusive; absent: `Math.random`. */
  random?(): number;
}

export function createIdempotency(deps: IdempotencyDeps): Idempotency {
  const { sql, clock, random = Math.random } = deps;
  const writes = createIdempotencyWrites(deps);

  async function claim(key: IdempotencyClaim): Promise<IdempotencyKeyState | null> {
    if (await claimIdempotencyKey(sql, key, random() < LIMITS.idempotency.countedPart)) return null;
    const found = await readIdempotencyKey(sql, key);
    if (found.state === "full") await evictIdempotencyKeys(sql, key);
    // Free: others have made room since, or it was released.
    else if (found.state !== "free") return found;
    return (await claimIdempotencyKey(sql, key, true)) ? null : readIdempotencyKey(sql, key);
  }

  /** `claim`, or 503 when it fails or takes too long; one that succeeds too late is undone. */
  function claimInTime(key: IdempotencyClaim): Promise<IdempotencyKeyState | null> {
    return new Promise((resolve, reject) => {
      let late = false;
      const fail = (cause: unknown) =>
        reject(
          new AppError("unavailable", "Idempotency-Keys cannot be checked now.", { retryAfterS: 1, cause }),
        );
      const timer = startStallTolerantTimer(clock, LIMITS.idempotency.claimTimeoutMs, () => {
        late = true;
        fail(new Error("the claim of an idempotency key timed out"));
      });
      claim(key)
        .then((state) => (late && state === null ? void attempt(key).release() : resolve(state)), fail)
        .finally(() => timer.cancel());
    });
  }

  function attempt(key: IdempotencyClaim): KeyedAttempt {
    const leaseEndMs = clock.monotonic() + LIMITS.idempotency.leaseMs;
    const write = (perform: () => Promise<void>, otherwise: string) =>
      writes.run({ teamId: key.teamId, perform, otherwise }, leaseEndMs);
    return {
      settle: (answer) =>
        write(
          () => completeIdempotencyKey(sql, key, answer),
          "an answer could not be kept for its idempotency key",
        ),
      release: () =>
        write(() => releaseIdempotencyKey(sql, key), "an idempotency key is locked until its lease ends"),
    };
  }

  return {
    async begin(request) {
      if (!KEY.test(request.key))
        throw new AppError(
          "bad_request",
          `The Idempotency-Key must be 1 to ${LIMITS.idempotency.keyChars} printable ASCII characters.`,
        );
      const key = await claimOf(request);
      const found = await claimInTime(key);
      if (found === null) return attempt(key);
      if (found.state === "kept") return { replay: found.answer };
      throw refusal(found.state);
    },
    drain: () => writes.drain(),
  };
}
