import { DAY_MS } from "../../core/clock.ts";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { ObjectStreams } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import { findTeamTerms } from "../../store/teams.ts";
import {
  blankUpload,
  deleteUpload,
  giveUpUpload,
  hideOldUploads,
  type RecentUpload,
  type RemovedUpload,
  recentUploads,
  removableUploads,
  type UploadRow,
  unfinishedUploads,
} from "../../store/uploads.ts";
import { limitsOf } from "../authenticate/lookup.ts";
import { createRounds, doEach } from "../rounds.ts";
import { look } from "./upload.ts";

/** Clears away uploads. Any number of processes may do it at once. */
export interface UploadRemoval {
  /**
   * Gives up what has got larger than its team may have; hides what nobody finished and what is past its retention with no
   * job that has yet to read it; removes objects and abandoned parts of what is hidden, then the rows. What fails keeps
   * nothing else from being done.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export interface UploadRemovalDeps {
  sql: Database;
  streams: Pick<ObjectStreams, "head">;
  /** Deletes some of what is below a prefix, parts being sent included; true when nothing is left of it. */
  deleteBelow(prefix: string): Promise<boolean>;
  log: Logger;
  retentionDays: number;
}

const { unfinishedMs, perRound, looksPerRound, objectPages } = LIMITS.uploads;
const rest = { restMs: LIMITS.bulk.removalRestMs, overMs: unfinishedMs };

const GONE: ReadonlySet<string> = new Set<ErrorCode>(["bulk_too_large", "not_found"]);

/** What object storage has of uploads, by rows that may be behind. */
function createLooks({ sql, streams }: UploadRemovalDeps) {
  /** @returns whether its bytes are there, and may be */
  return async (row: UploadRow): Promise<boolean> => {
    const terms = await findTeamTerms(sql, row.teamId);
    if (terms === null) return false;
    try {
      return (await look(sql, streams, row, { limits: limitsOf(terms) })) !== null;
    } catch (error) {
      // Given up by the look, or removed meanwhile.
      if (error instanceof AppError && GONE.has(error.code)) return false;
      throw error;
    }
  };
}

export function createUploadRemoval(deps: UploadRemovalDeps): UploadRemoval {
  const { sql, streams, log } = deps;
  const lookAt = createLooks(deps);
  const unfinished = createRounds<UploadRow>(log, "an upload could not be looked at");
  const recent = createRounds<RecentUpload>(log, "an upload could not be looked at");
  const removable = createRounds<RemovedUpload>(log, "an upload could not be removed");
  /** Looked at last. */
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
    // Sent after it was deleted: the URL held still.
    else if ((await streams.head({ bucket: null, key: row.key })) !== null) await removeObject(row.key);
  }

  return {
    async sweep(isStopping) {
      await doEach([
        () => recent.run(nextRecent, looksPerRound, isStopping, lookAgain),
        () =>
          unfinished.run(
            (limit) => unfinishedUploads(sql, unfinishedMs, limit),
            perRound,
            isStopping,
            async (row) => {
              // By a presigned URL its bytes may have come without our knowledge: then they are kept as others' are.
              if (!(await lookAt(row))) await giveUpUpload(sql, row.id);
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
