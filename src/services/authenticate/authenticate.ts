import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { Metrics } from "../../core/metrics.ts";
import type { AuthBus } from "../../store/auth-bus.ts";
import type { AuthChange, AuthChanges } from "../../store/auth-changes.ts";
import type { Credentials } from "../../store/credentials.ts";
import type { Actor } from "../actor.ts";
import { hashSecret, isWellFormedSecret } from "../api-key.ts";
import { type CachedCredential, createCredentialCache } from "./cache.ts";
import { createChangeFeed } from "./feed.ts";
import { createHeaderMemo, HEADER_START, SCHEME_CHARS, SECRET_CHARS } from "./header-memo.ts";
import { createLastUsed } from "./last-used.ts";

/**
 * Who asks. The way of a request: hash the secret, find the entry, see that it is confirmed; no promise, no Redis, no
 * Postgres.
 *
 * An entry may be used while it is *confirmed*: it was read, or the change feed proved it, less than
 * LIMITS.keys.confirmMs ago (authenticate-feed.ts says what proves it). Times are those at which the proof *began*, so
 * a change committed at R is out of use in every process by R + confirmMs, whatever fails. An entry that is no longer
 * confirmed is read again; when Postgres cannot be reached either, the answer is 503 `unavailable`, never a guess.
 *
 * A read that was under way while a change arrived may have seen the state before it: its result serves the requests
 * that were waiting, and is not kept.
 */
export interface Authenticator {
  /**
   * The actor behind an `Authorization` header, "" when there is none: at once from memory, or a promise after a look-up.
   * @throws AppError `unauthorized`; `unavailable` without Postgres; `overloaded` beyond LIMITS.keys.lookupsInFlight.
   */
  authenticate(authorization: string): Actor | Promise<Actor>;
  /**
   * What `authenticate` would answer from memory at `nowMs`, if this is the header of an API key as most write it; else
   * null. Counts nothing: see `use`.
   */
  known(authorization: string, nowMs: number): CachedCredential | null;
  /** What `known` found has served a request. */
  use(credential: CachedCredential, nowMs: number): void;
  /** Forgets what is cached of the subject, in this process. */
  invalidate(change: AuthChange): void;
  /** `listener` is told whenever the operator's lists have changed, or may have: changes may have been missed. */
  followLists(listener: () => void): void;
  /** Reads the feed of changes once; the timer does so every LIMITS.keys.pollMs. Never rejects. */
  poll(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface AuthenticatorDeps {
  credentials: Credentials;
  changes: AuthChanges;
  bus: AuthBus;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

const BEARER = /^bearer +([^ ]+) *$/i;

function unauthorized(detail: string): AppError {
  return new AppError("unauthorized", detail);
}

function readSecret(authorization: string): string {
  if (authorization === "") throw unauthorized("Send a key or session as `Authorization: Bearer …`.");
  const secret = authorization.startsWith(HEADER_START)
    ? authorization.slice(SCHEME_CHARS)
    : BEARER.exec(authorization)?.[1];
  if (secret === undefined) throw unauthorized("The Authorization header is not of the Bearer scheme.");
  if (secret.length !== SECRET_CHARS) throw unauthorized("The credential is not complete.");
  return secret;
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { credentials, clock, log } = deps;
  const cache = createCredentialCache();
  const headers = createHeaderMemo(cache);
  const lastUsed = createLastUsed({ credentials, clock, log });
  let listsChanged = (): void => undefined;
  const feed = createChangeFeed({
    ...deps,
    apply,
    reset,
    polling: () => headers.expire(clock.monotonic()),
  });
  const flights = new Map<string, Promise<Actor>>();
  const counters = {
    hit: deps.metrics.keyLookups.tally({ result: "hit" }),
    miss: deps.metrics.keyLookups.tally({ result: "miss" }),
    unknown: deps.metrics.keyLookups.tally({ result: "unknown" }),
    failed: deps.metrics.keyLookups.tally({ result: "failed" }),
  };

  function apply(change: AuthChange): void {
    if (change.kind === "all") reset();
    else if (change.kind === "lists") listsChanged();
    else cache.drop(change);
  }

  function reset(): void {
    cache.clear();
    listsChanged();
  }

  function isUsable(entry: CachedCredential, nowMs: number): boolean {
    // What is true of all entries first: their own numbers lie beside them, and are to be waited for.
    const isProven =
      nowMs - feed.confirmedAtMs() < LIMITS.keys.confirmMs ||
      nowMs - entry.loadedAtMs < LIMITS.keys.confirmMs;
    return isProven && (entry.expiresAtMs === null || nowMs < entry.expiresAtMs);
  }

  function noteUse(entry: CachedCredential, nowMs: number): void {
    if (!entry.isKey || nowMs - entry.notedAtMs < LIMITS.keys.lastUsedEveryMs) return;
    entry.notedAtMs = Math.floor(nowMs);
    lastUsed.note(entry.actor.keyId);
  }

  function use(entry: CachedCredential, nowMs: number): void {
    counters.hit.count += 1;
    noteUse(entry, nowMs);
  }

  async function load(hash: string): Promise<Actor> {
    const beganMs = clock.monotonic();
    const epoch = cache.epoch();
    const found = await credentials.find(Buffer.from(hash, "hex"));
    const nowMs = clock.monotonic();
    if (!found) {
      counters.unknown.count += 1;
      cache.admitUnknown(hash, nowMs, epoch);
      throw unauthorized("The credential is unknown, revoked or expired.");
    }
    counters.miss.count += 1;
    const usableSinceMs = nowMs - LIMITS.keys.confirmMs;
    const provenMs = feed.confirmedAtMs() > usableSinceMs ? Number.NEGATIVE_INFINITY : usableSinceMs;
    const entry = cache.admit(hash, found, { beganMs, epoch, usableSinceMs: provenMs });
    noteUse(entry, nowMs);
    return entry.actor;
  }

  /** `work`, or 503 when it fails or takes too long; it keeps its place among the flights until it has really ended. */
  function bounded(work: Promise<Actor>): Promise<Actor> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        counters.failed.count += 1;
        reject(new AppError("unavailable", "Credentials cannot be checked now.", { retryAfterS: 1, cause }));
      };
      const timer = clock.after(LIMITS.keys.lookupTimeoutMs, () => fail(new Error("look-up timed out")));
      work
        .then(resolve, (error: unknown) => (error instanceof AppError ? reject(error) : fail(error)))
        .finally(() => timer.cancel());
    });
  }

  function lookUp(hash: string): Promise<Actor> {
    const known = flights.get(hash);
    if (known) return known;
    if (flights.size >= LIMITS.keys.lookupsInFlight)
      throw new AppError("overloaded", "Too many credentials are being looked up.", { retryAfterS: 1 });
    const work = load(hash);
    const flight = bounded(work);
    flights.set(hash, flight);
    const land = () => void flights.delete(hash);
    work.then(land, land);
    return flight;
  }

  return {
    authenticate(authorization) {
      const secret = readSecret(authorization);
      const hash = hashSecret(secret);
      const nowMs = clock.monotonic();
      const entry = cache.get(hash);
      if (entry && isUsable(entry, nowMs)) {
        use(entry, nowMs);
        return entry.actor;
      }
      if (!entry) {
        if (!isWellFormedSecret(secret))
          throw unauthorized("The credential is mistyped: its checksum is wrong.");
        if (cache.isUnknown(hash, nowMs))
          throw unauthorized("The credential is unknown, revoked or expired.");
      }
      return lookUp(hash);
    },
    known(authorization, nowMs) {
      const entry = headers.find(authorization, nowMs);
      const isGood = entry?.isKey === true && !entry.team.stale && isUsable(entry, nowMs);
      return isGood ? entry : null;
    },
    use,
    invalidate: apply,
    followLists(listener) {
      listsChanged = listener;
    },
    poll: feed.poll,
    async start() {
      lastUsed.start();
      await feed.start();
    },
    async stop() {
      feed.stop();
      lastUsed.stop();
      await lastUsed.flush();
    },
  };
}
