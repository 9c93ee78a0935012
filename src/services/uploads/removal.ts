import { DAY_MS } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { ObjectStreams } from "../../store/object-streams.ts";
import type { Database } from "../../store/postgres.ts";
import {
  blankUpload,
  deleteUpload,
  giveUpUpload,
  hideOldUploads,
  removableUploads,
  unfinishedUploads,
} from "../../store/uploads.ts";
import { look } from "./upload.ts";

/** Clears away uploads. Any number of processes may do it at once. */
export interface UploadRemoval {
  /**
   * Hides what nobody finished and what is past its retention with no job that has yet to read it; removes objects and
   * abandoned parts of what is hidden, then the rows.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export function createUploadRemoval(deps: {
  sql: Database;
  streams: Pick<ObjectStreams, "head">;
  /** Deletes some of what is below a prefix, parts being sent included; true when nothing is left of it. */
  deleteBelow(prefix: string): Promise<boolean>;
  retentionDays: number;
}): UploadRemoval {
  const { sql, streams } = deps;
  const { unfinishedMs, perRound, objectPages } = LIMITS.uploads;
  const rest = { restMs: LIMITS.bulk.removalRestMs, overMs: unfinishedMs };

  async function removeObject(key: string): Promise<boolean> {
    for (let page = 0; page < objectPages; page++) if (await deps.deleteBelow(key)) return true;
    return false;
  }

  return {
    async sweep(isStopping) {
      for (const row of await unfinishedUploads(sql, unfinishedMs, perRound)) {
        if (isStopping()) return;
        // By a presigned URL its bytes may have come without our knowledge: then they are kept as others' are.
        if ((await look(sql, streams, row)) === null) await giveUpUpload(sql, row.id);
      }
      await sql.begin((tx) => hideOldUploads(tx, deps.retentionDays * DAY_MS, perRound));
      for (const { id, key, isLast } of await removableUploads(sql, rest, perRound)) {
        if (isStopping()) return;
        if (!(await removeObject(key))) continue;
        if (isLast) await deleteUpload(sql, id);
        else await blankUpload(sql, id);
      }
    },
  };
}
