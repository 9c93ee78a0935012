import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { upTo } from "../../platform/lru.ts";
import type { Actor } from "../identity/actor.ts";
import type { CredentialRow, TeamRow } from "../identity/credentials.ts";
import type { AuthChange } from "./auth-changes.ts";
import { buildActor, type TeamContext, teamContext } from "./lookup.ts";
import type { TeamLists } from "./team-lists.ts";

export interface CachedCredential {
  readonly actor: Actor;
  readonly team: TeamContext;
  /** The actor's overlay; no request may be answered by it while it is not settled. */
  readonly lists: TeamLists;
  /** When the look-up began that this rests on, monotonic. */
  readonly loadedAtMs: number;
  /** Monotonic; null: it does not expire, as keys do not. */
  readonly expiresAtMs: number | null;
  readonly isKey: boolean;
  /** When its use was last noted, monotonic, whole: a fraction would be an object of its own to V8, for each request to wait for. */
  notedAtMs: number;
}

/** Replaces an entry that has to be read again. */
const DROPPED = "dropped";

/** Longer ago than LIMITS.keys.lastUsedEveryMs, and whole. */
const NEVER_MS = -(2 ** 30);

export interface FoundCredential {
  credential: CredentialRow;
  team: TeamRow;
  lists: TeamLists;
}

export interface CredentialCache {
  get(hash: string): CachedCredential | undefined;
  /** True when the hash was a credential's at its last look-up, even if it has to be looked up again. */
  wasValid(hash: string): boolean;
  /** True when the hash was looked up in vain a moment ago. */
  isUnknown(hash: string, nowMs: number): boolean;
  /** The entry for a found credential. It is cached unless something changed since `epoch` was read. */
  admit(
    hash: string,
    found: FoundCredential,
    at: { beganMs: number; epoch: number; usableSinceMs: number },
  ): CachedCredential;
  admitUnknown(hash: string, nowMs: number, epoch: number): void;
  drop(change: AuthChange): void;
  clear(): void;
  /** Grows with each drop. A look-up that was in progress during a drop may have read the state before it. */
  epoch(): number;
}

/**
 * Credentials by hash, bounded, in process. All credentials of a team share one context, so that a change to the team
 * reaches them all by marking it stale; no index from teams to credentials is needed. A change to its lists reaches them in
 * the lists, which they share as well.
 */
export function createCredentialCache(): CredentialCache {
  const { cacheEntries, negativeEntries, negativeMs } = LIMITS.keys;
  const entries = new LRUCache<string, CachedCredential | typeof DROPPED>(upTo(cacheEntries));
  const unknown = new LRUCache<string, number>(upTo(negativeEntries));
  const teams = new LRUCache<string, TeamContext>({
    ...upTo(cacheEntries),
    // A later change cannot find an evicted context to mark it stale, so it is marked now.
    dispose: (context) => {
      context.stale = true;
    },
  });
  let epoch = 0;

  function contextFor(row: TeamRow, beganMs: number, usableSinceMs: number): TeamContext {
    const known = teams.get(row.id);
    if (known && known.loadedAtMs > usableSinceMs) return known;
    const context = teamContext(row, beganMs);
    teams.set(row.id, context);
    return context;
  }

  function build(found: FoundCredential, team: TeamContext, beganMs: number): CachedCredential {
    const { credential, lists } = found;
    return {
      actor: buildActor(credential, found.team, team, lists),
      team,
      lists,
      loadedAtMs: Math.min(beganMs, team.loadedAtMs, lists.loadedAtMs),
      expiresAtMs: credential.expiresInMs === null ? null : beganMs + credential.expiresInMs,
      isKey: credential.kind !== "session",
      notedAtMs: NEVER_MS,
    };
  }

  return {
    get(hash) {
      const entry = entries.get(hash);
      return entry && entry !== DROPPED && !entry.team.stale ? entry : undefined;
    },
    wasValid: (hash) => entries.has(hash),
    isUnknown: (hash, nowMs) => nowMs < (unknown.get(hash) ?? 0),
    admit(hash, found, at) {
      if (at.epoch !== epoch) return build(found, teamContext(found.team, at.beganMs), at.beganMs);
      const entry = build(found, contextFor(found.team, at.beganMs, at.usableSinceMs), at.beganMs);
      entries.set(hash, entry);
      return entry;
    },
    admitUnknown(hash, nowMs, readEpoch) {
      entries.delete(hash);
      if (readEpoch === epoch) unknown.set(hash, nowMs + negativeMs);
    },
    drop(change) {
      epoch += 1;
      if (change.kind === "team") {
        teams.delete(change.subject);
        return;
      }
      if (entries.has(change.subject)) entries.set(change.subject, DROPPED);
      unknown.delete(change.subject);
    },
    clear() {
      epoch += 1;
      // All entries are stale with their teams.
      teams.clear();
      unknown.clear();
    },
    epoch: () => epoch,
  };
}
