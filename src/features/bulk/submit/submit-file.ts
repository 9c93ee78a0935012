import { AppError } from "../../../platform/errors.ts";
import { ForbiddenObject, type ObjectStreams } from "../../../stores/objects/object-streams.ts";
import { listGrants } from "../../../stores/objects/s3-grants.ts";
import type { Database, Transaction } from "../../../stores/postgres/postgres.ts";
import { type Actor, shareKey } from "../../identity/actor.ts";
import { findJob, insertJob, type JobRow } from "../jobs/job-sql.ts";
import { insertAnalysis } from "../schedule/job-tasks.ts";
import { isGranted, type S3ObjectRef } from "./grant-check.ts";
import {
  checkBytes,
  checkTeamJobs,
  type NewSource,
  newJob,
  type SubmissionTerms,
  type Submit,
} from "./submission.ts";

export interface SubmitFileDeps {
  sql: Database;
  objects: Pick<ObjectStreams, "head">;
  /** Name of the deployment's own bucket. */
  ownBucket: string;
  uploads: UploadSources;
}

/** An upload whose bytes are there. */
export interface UploadSource {
  filename: string;
  key: string;
  etag: string;
  bytes: number;
}

/** Uploads as jobs read them. */
export interface UploadSources {
  /** @throws AppError `not_found`, `upload_missing`, `bulk_too_large` */
  find(actor: Pick<Actor, "teamId" | "livemode" | "limits">, uploadId: string): Promise<UploadSource>;
  /** Keeps it from being removed until the transaction ends. False: it has been. */
  keep(tx: Transaction, teamId: string, uploadId: string): Promise<boolean>;
}

/** A check or lock in the transaction that creates the job. */
type Claim = (tx: Transaction) => Promise<void>;

/**
 * Creates a job from a list in object storage. The list is not read yet: its analysis is the first task, written together
 * with the job. So a killed process leaves either both or neither.
 */
async function submitFile(
  sql: Database,
  actor: Actor,
  terms: SubmissionTerms,
  from: NewSource,
  claim: Claim,
): Promise<JobRow> {
  const job = newJob(actor, terms, from);
  return sql.begin(async (tx) => {
    await checkTeamJobs(tx, actor);
    await claim(tx);
    await insertJob(tx, job, "queued");
    await insertAnalysis(tx, job.id);
    const row = await findJob(tx, actor.teamId, job.id);
    if (row === null) throw new Error("a job is not there in the transaction that made it");
    return row;
  }, actor.teamId);
}

function notGranted(): AppError {
  return new AppError("s3_not_granted", "The operator has not granted this place to the team.");
}

/**
 * Takes an object of a bucket that was granted to the team: the very state it is in now.
 * @throws AppError `s3_not_granted`, `source_missing`, `bulk_too_large`, `limit_reached`
 */
export function createSubmitS3({ sql, objects, ownBucket }: SubmitFileDeps): Submit<S3ObjectRef> {
  async function find(place: S3ObjectRef, share: string) {
    try {
      return await objects.head(place, { share });
    } catch (error) {
      if (!(error instanceof ForbiddenObject)) throw error;
      throw new AppError(
        "s3_not_granted",
        "The bucket's owner does not let this deployment's credentials read the object.",
        { cause: error },
      );
    }
  }

  return async (actor, { bucket, key }, terms) => {
    const place = { bucket, key };
    const isAllowed = async (at: Database | Transaction) =>
      isGranted(await listGrants(at, actor.teamId), place, ownBucket);
    // Checked before object storage is asked, so that a team without a grant does not learn what is in the bucket.
    if (!(await isAllowed(sql))) throw notGranted();
    const found = await find(place, shareKey(actor));
    if (found === null) throw new AppError("source_missing", "There is no such object.");
    checkBytes(found.bytes, actor);
    const from: NewSource = {
      source: { type: "s3", bucket, key },
      uploadId: null,
      place: { bucket, key, etag: found.etag },
      bytes: found.bytes,
    };
    return submitFile(sql, actor, terms, from, async (tx) => {
      if (!(await isAllowed(tx))) throw notGranted();
    });
  };
}

/**
 * Creates a job from an upload, in its present state.
 * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `limit_reached`
 */
export function createSubmitUpload({ sql, uploads }: SubmitFileDeps): Submit<string> {
  return async (actor, uploadId, terms) => {
    const { filename, key, etag, bytes } = await uploads.find(actor, uploadId);
    checkBytes(bytes, actor);
    const from: NewSource = {
      source: { type: "upload", upload_id: uploadId, filename },
      uploadId,
      place: { bucket: null, key, etag },
      bytes,
    };
    return submitFile(sql, actor, terms, from, async (tx) => {
      if (!(await uploads.keep(tx, actor.teamId, uploadId)))
        throw new AppError("not_found", "There is no such upload.");
    });
  };
}
