import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { listGrants, type S3Grant } from "../../../stores/objects/s3-grants.ts";
import type { Queryable } from "../../../stores/postgres/postgres.ts";

/** An object in a bucket of any owner. */
export interface S3ObjectRef {
  bucket: string;
  key: string;
}

/** A bucket's name, and nothing that a path or an ARN could be made of. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Segments that a proxy on the way might resolve, so that another object than the granted one is read. */
const DOT_SEGMENTS = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/**
 * True when a team with these grants may read the object. The deployment's own bucket is never granted, whatever the grants
 * say: it has the objects of all teams.
 */
export function isGranted(
  grants: readonly S3Grant[],
  { bucket, key }: S3ObjectRef,
  ownBucket: string,
): boolean {
  if (!BUCKET.test(bucket) || bucket === ownBucket.toLowerCase() || DOT_SEGMENTS.test(key)) return false;
  return grants.some((grant) => grant.bucket === bucket && key.startsWith(grant.prefix));
}

/** True when a team may read an object now. A grant that was revoked more than a second ago no longer counts. */
export type GrantCheck = (teamId: string, place: S3ObjectRef) => Promise<boolean>;

export interface GrantCheckDeps {
  sql: Queryable;
  clock: Pick<Clock, "monotonic">;
  /** Name of the deployment's own bucket. */
  ownBucket: string;
}

/** Grants of teams as Postgres has them, kept for LIMITS.bulk.grantsFreshMs: each chunk of a job asks for them. */
export function createGrantCheck({ sql, clock, ownBucket }: GrantCheckDeps): GrantCheck {
  const { grantsFreshMs, grantsKept } = LIMITS.bulk;
  const known = new LRUCache<string, { askedMs: number; grants: Promise<S3Grant[]> }>({ max: grantsKept });

  function grantsOf(teamId: string): Promise<S3Grant[]> {
    const now = clock.monotonic();
    const found = known.get(teamId);
    if (found !== undefined && now - found.askedMs < grantsFreshMs) return found.grants;
    const asked = { askedMs: now, grants: listGrants(sql, teamId) };
    known.set(teamId, asked);
    asked.grants.catch(() => {
      if (known.get(teamId) === asked) known.delete(teamId);
    });
    return asked.grants;
  }

  return async (teamId, place) => isGranted(await grantsOf(teamId), place, ownBucket);
}
