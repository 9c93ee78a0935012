import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { CountCell } from "../../platform/telemetry/custom-metrics.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import type { Actor } from "../identity/actor.ts";
import { hashSecret, isWellFormedSecret } from "../identity/api-key.ts";
import type { Credentials } from "../identity/credentials.ts";
import type { ClientLimiter } from "../rate-limit/clients.ts";
import type { AuthBus } from "./auth-bus.ts";
import type { AuthChange, AuthChanges } from "./auth-changes.ts";
import { type CachedCredential, createCredentialCache } from "./cache.ts";
import { type Caller, type ClientCharges, createClientCharges } from "./client-charges.ts";
import { type ChangeFeed, createChangeFeed } from "./feed.ts";
import { createHeaderMemo, HEADER_START, SCHEME_CHARS, SECRET_CHARS } from "./header-memo.ts";
import { createLastUsed, type LastUsed } from "./last-used.ts";
import type { TeamDomainsReader } from "./team-domains.ts";
import { createTeamLists, type TeamListsStore } from "./team-lists.ts";

/**
 * Finds the actor of a credential. For most requests: hash the secret, find the entry, see that it is confirmed; no
 * promise, no Redis, no Postgres.
 *
 * An entry may be used while it is *confirmed*: it was read, or the change feed proved it, less than LIMITS.keys.confirmMs
 * ago (see feed.ts). Times are those at which the proof *began*, so a change committed at R is out of use in every process
 * by R + confirmMs, whatever fails. An entry that is no longer confirmed is read again. If Postgres cannot be reached
 * either, the answer is 503 `unavailable`, never a guess.
 *
 * Unknown and mistyped credentials are charged to the client's address. An address that sent too many of them has to wait,
 * and its credentials are not looked up during the wait. Exceptions are credentials that were good when this process last
 * saw them. So a customer who shares the address (NAT) with an attacker goes on. Only a key that this process has not seen,
 * or has evicted, waits too: before the look-up it cannot be distinguished from an attacker's.
 *
 * A team's domain lists are held separately from its credentials, once, and updated by difference (team-lists.ts): a
 * credential waits only while a noted change of them is being read.
 *
 * A read during which a change arrived may have seen the state before it. Its result serves the requests that were waiting,
 * and is not cached.
 */
export interface Authenticator {
  /**
   * The actor behind an `Authorization` header, "" when there is none: at once from memory, or a promise after a look-up.
   * @param caller read within the call, and only if the credential is not in memory; absent: no address is charged
   * @throws AppError `unauthorized`; `rate_limited` when the caller's address sent too many unknown ones; `unavailable`
   *   without Postgres; `overloaded` beyond LIMITS.keys.lookupsInFlight.
   */
  authenticate(authorization: string, caller?: Caller): Actor | Promise<Actor>;
  /** True for the header of a credential that is in memory and good; looks none up. */
  isKnown(authorization: string): boolean;
  /** Drops the cached data of the subject, in this process. */
  invalidate(change: AuthChange): void;
  /** Calls `listener` whenever the operator's lists have changed, or may have: changes may have been missed. */
  followLists(listener: () => void): void;
  /** Reads the feed of changes once; the timer does so every LIMITS.keys.pollMs. Never rejects. */
  poll(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface AuthenticatorDeps {
  credentials: Credentials;
  domains: TeamDomainsReader;
  changes: AuthChanges;
  bus: AuthBus;
  clients: ClientLimiter;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

/** A look-up in flight. */
interface LookUp {
  answer: Promise<Actor>;
  beganMs: number;
  /** Its waiters were refused; the look-up itself may still be running. */
  failed: boolean;
}

const BEARER = /^bearer +([^ ]+) *$/i;

function unauthorized(detail: string): AppError {
  return new AppError("unauthorized", detail);
}

/** Thrown by the thousand, and each would cost a stack. */
const MISTYPED = unauthorized("The credential is mistyped: its checksum is wrong.");
const UNKNOWN = unauthorized("The credential is unknown, revoked or expired.");

/** The secret in the header; an error: there is none. */
function readSecret(authorization: string): string | AppError {
  const secret = authorization.startsWith(HEADER_START)
    ? authorization.slice(SCHEME_CHARS)
    : BEARER.exec(authorization)?.[1];
  if (secret === undefined) return unauthorized("The Authorization header is not of the Bearer scheme.");
  if (secret.length !== SECRET_CHARS) return unauthorized("The credential is not complete.");
  return secret;
}

class CachingAuthenticator implements Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #cache = createCredentialCache();
  readonly #headers = createHeaderMemo(this.#cache);
  readonly #teamLists: TeamListsStore;
  readonly #lastUsed: LastUsed;
  readonly #feed: ChangeFeed;
  readonly #inFlight = new Map<string, LookUp>();
  /** Counts look-ups that are awaited, and those that still run after their waiters gave up. */
  #lookUpsRunning = 0;
  readonly #counters: Record<"hit" | "miss" | "unknown" | "failed" | "limited", CountCell>;
  readonly #charges: ClientCharges;
  #onListsChanged: () => void = () => undefined;

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#teamLists = createTeamLists({
      ...deps,
      onEvicted: (teamId) => this.#cache.drop({ kind: "team", subject: teamId }),
    });
    this.#lastUsed = createLastUsed({ credentials: deps.credentials, clock: deps.clock, log: deps.log });
    this.#feed = createChangeFeed({
      ...deps,
      apply: (change) => this.invalidate(change),
      reset: () => this.#reset(),
      onPoll: () => this.#headers.expire(deps.clock.monotonic()),
    });
    this.#counters = {
      hit: deps.metrics.keyLookups.tally({ result: "hit" }),
      miss: deps.metrics.keyLookups.tally({ result: "miss" }),
      unknown: deps.metrics.keyLookups.tally({ result: "unknown" }),
      failed: deps.metrics.keyLookups.tally({ result: "failed" }),
      limited: deps.metrics.keyLookups.tally({ result: "limited" }),
    };
    this.#charges = createClientCharges({
      clients: deps.clients,
      clock: deps.clock,
      limited: this.#counters.limited,
    });
  }

  invalidate(change: AuthChange): void {
    if (change.kind === "all") this.#reset();
    else if (change.kind === "lists") this.#onListsChanged();
    else if (change.domains !== undefined) this.#teamLists.changed(change.subject, change.domains);
    else this.#cache.drop(change);
  }

  #use(entry: CachedCredential, nowMs: number): void {
    this.#counters.hit.count += 1;
    this.#noteUse(entry, nowMs);
  }

  authenticate(authorization: string, caller?: Caller): Actor | Promise<Actor> {
    const nowMs = this.#deps.clock.monotonic();
    const remembered = this.#findRemembered(authorization, nowMs);
    if (remembered !== null) {
      this.#use(remembered, nowMs);
      return remembered.actor;
    }
    if (authorization === "") throw unauthorized("Send a key or session as `Authorization: Bearer …`.");
    const secret = readSecret(authorization);
    if (typeof secret !== "string") throw this.#charges.charge(secret, caller);
    const hash = hashSecret(secret);
    const entry = this.#cache.get(hash);
    if (entry && this.#isUsable(entry, nowMs)) {
      this.#use(entry, nowMs);
      return entry.lists.isSettled ? entry.actor : this.#bounded(this.#settle(entry), () => undefined);
    }
    if (this.#cache.wasValid(hash)) return this.#lookUp(hash);
    if (!isWellFormedSecret(secret)) throw this.#charges.charge(MISTYPED, caller);
    if (this.#cache.isUnknown(hash, nowMs)) throw this.#charges.charge(UNKNOWN, caller);
    return this.#charges.lookUp(() => this.#lookUp(hash), caller, this.#inFlight.has(hash));
  }

  isKnown(authorization: string): boolean {
    const secret = readSecret(authorization);
    const entry = typeof secret === "string" ? this.#cache.get(hashSecret(secret)) : undefined;
    return entry !== undefined && this.#isUsable(entry, this.#deps.clock.monotonic());
  }

  /** The header of an API key as most write it that was hashed lately; null: it has to be looked at. */
  #findRemembered(authorization: string, nowMs: number): CachedCredential | null {
    const entry = this.#headers.find(authorization, nowMs);
    const isGood =
      entry?.isKey === true && !entry.team.stale && entry.lists.isSettled && this.#isUsable(entry, nowMs);
    return isGood ? entry : null;
  }

  followLists(listener: () => void): void {
    this.#onListsChanged = listener;
  }

  poll(): Promise<void> {
    return this.#feed.poll();
  }

  async start(): Promise<void> {
    this.#lastUsed.start();
    await this.#feed.start();
  }

  async stop(): Promise<void> {
    this.#feed.stop();
    this.#lastUsed.stop();
    await this.#lastUsed.flush();
  }

  #reset(): void {
    this.#cache.clear();
    this.#teamLists.reset();
    this.#onListsChanged();
  }

  #isUsable(entry: CachedCredential, nowMs: number): boolean {
    // The proof of all entries is checked first: reading an entry's own numbers costs a memory access.
    const isProven =
      nowMs - this.#feed.confirmedAtMs() < LIMITS.keys.confirmMs ||
      nowMs - entry.loadedAtMs < LIMITS.keys.confirmMs;
    return isProven && (entry.expiresAtMs === null || nowMs < entry.expiresAtMs);
  }

  #noteUse(entry: CachedCredential, nowMs: number): void {
    if (!entry.isKey || nowMs - entry.notedAtMs < LIMITS.keys.lastUsedEveryMs) return;
    entry.notedAtMs = Math.floor(nowMs);
    this.#lastUsed.note(entry.actor.keyId);
  }

  async #load(hash: string): Promise<Actor> {
    const beganMs = this.#deps.clock.monotonic();
    const epoch = this.#cache.epoch();
    const found = await this.#deps.credentials.find(Buffer.from(hash, "hex"));
    const nowMs = this.#deps.clock.monotonic();
    if (!found) {
      this.#counters.unknown.count += 1;
      this.#cache.admitUnknown(hash, nowMs, epoch);
      throw UNKNOWN;
    }
    const lists = await this.#teamLists.of(found.team.id, this.#usableSinceMs());
    this.#counters.miss.count += 1;
    const entry = this.#cache.admit(
      hash,
      { ...found, lists },
      { beganMs, epoch, usableSinceMs: this.#usableSinceMs() },
    );
    this.#noteUse(entry, nowMs);
    return entry.actor;
  }

  /** Entries read since then are proven; -Infinity: all cached entries are. */
  #usableSinceMs(): number {
    const sinceMs = this.#deps.clock.monotonic() - LIMITS.keys.confirmMs;
    return this.#feed.confirmedAtMs() > sinceMs ? Number.NEGATIVE_INFINITY : sinceMs;
  }

  /** The entry's actor, once noted changes of its team's lists are read. */
  async #settle({ actor, lists }: CachedCredential): Promise<Actor> {
    await this.#teamLists.settled(actor.teamId, lists);
    return actor;
  }

  /** `work`, or 503 when it fails or takes too long. */
  #bounded(work: Promise<Actor>, failed: () => void): Promise<Actor> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        this.#counters.failed.count += 1;
        failed();
        reject(new AppError("unavailable", "Credentials cannot be checked now.", { retryAfterS: 1, cause }));
      };
      const timer = startStallTolerantTimer(this.#deps.clock, LIMITS.keys.lookupTimeoutMs, () =>
        fail(new Error("look-up timed out")),
      );
      work
        .then(resolve, (error: unknown) => (error instanceof AppError ? reject(error) : fail(error)))
        .finally(() => timer.cancel());
    });
  }

  #lookUp(hash: string): Promise<Actor> {
    const known = this.#inFlight.get(hash);
    const beganMs = this.#deps.clock.monotonic();
    // A failed look-up refuses until it has really ended, so that a silent database is not asked again. A slow one is not
    // joined after LIMITS.keys.confirmMs: its answer would be older than a cached one may be.
    if (known && (known.failed || beganMs - known.beganMs < LIMITS.keys.confirmMs)) return known.answer;
    if (this.#lookUpsRunning >= LIMITS.keys.lookupsInFlight)
      throw new AppError("overloaded", "Too many credentials are being looked up.", { retryAfterS: 1 });
    this.#lookUpsRunning += 1;
    const work = this.#load(hash);
    const answer = this.#bounded(work, () => {
      lookUp.failed = true;
    });
    const lookUp: LookUp = { answer, beganMs, failed: false };
    this.#inFlight.set(hash, lookUp);
    const leave = () => {
      this.#lookUpsRunning -= 1;
      if (this.#inFlight.get(hash) === lookUp) this.#inFlight.delete(hash);
    };
    work.then(leave, leave);
    return answer;
  }
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  return new CachingAuthenticator(deps);
}
