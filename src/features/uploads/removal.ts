import { LIMITS } from "../../config/limits/limits.ts";
import { AppError, type ErrorCode } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import { createSweep, runEach } from "../../platform/periodic/sweep.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import type { ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { limitsOf } from "../auth/lookup.ts";
import { findTeamTerms } from "../identity/team-sql.ts";
import { refreshFromStorage } from "./upload.ts";
import {
  blankUpload,
  deleteUpload,
  giveUpExpired,
  hideOldUploads,
  type RecentUpload,
  type RemovedUpload,
  recentUploads,
  removableUploads,
  type UploadRow,
  unfinishedUploads,
} from "./upload-sql.ts";

/** Removes uploads. Any number of processes may run it at once. */
export interface UploadRemoval {
  /**
   * Gives up uploads larger than the team's limit; hides unfinished ones and those past their retention that no job still
   * reads; removes objects and abandoned parts of hidden ones, then the rows. A failure does not stop the rest.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export interface UploadRemovalDeps {
  sql: Database;
  streams: Pick<ObjectStreams, "head">;
  /** Deletes some of the objects below a prefix, unfinished parts included; true when nothing is left. */
  deleteBelow(prefix: string): Promise<boolean>;
  log: Logger;
  retentionDays: number;
}

const { unfinishedMs, perRound, looksPerRound, objectPages } = LIMITS.uploads;
const rest = { restMs: LIMITS.bulk.removalRestMs, overMs: unfinishedMs };

const GONE: ReadonlySet<string> = new Set<ErrorCode>(["bulk_too_large", "not_found"]);

/** Checks uploads in object storage, by rows that may be outdated. */
function createStorageLooks({ sql, streams }: UploadRemovalDeps) {
  /** @returns whether its bytes exist and may be kept */
  return async (row: UploadRow): Promise<boolean> => {
    const terms = await findTeamTerms(sql, row.teamId);
    if (terms === null) return false;
    try {
      return (await refreshFromStorage(sql, streams, row, { limits: limitsOf(terms) })) !== null;
    } catch (error) {
      // Given up by the check, or removed meanwhile.
      if (error instanceof AppError && GONE.has(error.code)) return false;
      throw error;
    }
  };
}

export function createUploadRemoval(deps: UploadRemovalDeps): UploadRemoval {
  const { sql, streams, log } = deps;
  const lookAt = createStorageLooks(deps);
  const unfinished = createSweep<UploadRow>(log, "cannot check an upload");
  const recent = createSweep<RecentUpload>(log, "cannot check an upload");
  const removable = createSweep<RemovedUpload>(log, "cannot remove an upload");
  /** The last checked upload. */
  let lookedAt = "";

  async function removeObject(key: string): Promise<boolean> {
    for (let page = 0; page < objectPages; page++) if (await deps.deleteBelow(key)) return true;
    return false;
  }

  /** The next ones in turn, then the first again. */
  async function nextRecent(): Promise<RecentUpload[]> {
    const rows = await recentUploads(sql, { after: lookedAt, overMs: unfinishedMs }, looksPerRound);
    lookedAt = rows.length < looksPerRound ? "" : (rows.at(-1)?.id ?? "");
    return rows;
  }

  async function lookAgain(row: RecentUpload): Promise<void> {
    if (!row.isHidden) await lookAt(row);
    // Sent after its deletion, by a URL that was still valid.
    else if ((await streams.head({ bucket: null, key: row.key })) !== null) await removeObject(row.key);
  }

  return {
    async sweep(isStopping) {
      await runEach([
        () => recent.run(nextRecent, looksPerRound, isStopping, lookAgain),
        () =>
          unfinished.run(
            (limit) => unfinishedUploads(sql, unfinishedMs, limit),
            perRound,
            isStopping,
            async (row) => {
              // Its bytes may have arrived by a presigned URL without our knowledge: then they are kept like others.
              if (!(await lookAt(row))) await giveUpExpired(sql, row.id, unfinishedMs);
            },
          ),
        () => sql.begin((tx) => hideOldUploads(tx, deps.retentionDays * DAY_MS, perRound)),
        () =>
          removable.run(
            (limit) => removableUploads(sql, rest, limit),
            perRound,
            isStopping,
            async ({ id, key, isLast }) => {
              if (!(await removeObject(key))) return;
              if (isLast) await deleteUpload(sql, id);
              else await blankUpload(sql, id);
            },
          ),
      ]);
    },
  };
}
