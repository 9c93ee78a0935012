import type { S3Grant } from "../../store/s3-grants.ts";

/** An object of somebody's bucket. */
export interface S3Place {
  bucket: string;
  key: string;
}

/** A bucket's name, and nothing that a path or an ARN could be made of. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Segments that a proxy on the way might resolve, so that another object than the granted one is read. */
const STEPS = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/**
 * Whether a team with these grants may have the object read. The deployment's own bucket is nobody's, whatever was
 * granted: it holds what all teams have stored.
 */
export function isGranted(grants: readonly S3Grant[], { bucket, key }: S3Place, ownBucket: string): boolean {
  if (!BUCKET.test(bucket) || bucket === ownBucket.toLowerCase() || STEPS.test(key)) return false;
  return grants.some((grant) => grant.bucket === bucket && key.startsWith(grant.prefix));
}
