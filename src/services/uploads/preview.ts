import { AppError } from "../../core/errors.ts";
import { isListError } from "../../core/job-errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { MissingObject, type ObjectStreams } from "../../store/object-streams.ts";
import type { Actor } from "../actor.ts";
import type { ScoreParts } from "../bulk/columns/choose-column.ts";
import { candidateColumns, columnName } from "../bulk/columns/describe.ts";
import type { DetectedTable } from "../bulk/csv/detect.ts";
import { toText, toUtf8 } from "../bulk/csv/field.ts";
import { bytesOf } from "../bulk/csv/text-form.ts";
import type {
  CandidateColumn,
  JobProblem,
  SourceColumns,
  SourceOptions,
  SourceWarning,
} from "../bulk/layout.ts";
import { openSource } from "../bulk/open-source.ts";
import type { UploadSources } from "../bulk/submit-file.ts";
import { randomBytesOf } from "../bulk/workbook/random-bytes.ts";

/** What a job would make of an upload, by its first bytes. */
export interface UploadPreview {
  layout: SourceColumns;
  /** Names of the columns; null: there is no header. */
  header: string[] | null;
  /** The likeliest first. */
  candidates: (CandidateColumn & { score: number; parts: ScoreParts })[];
  /** Cells are cut to LIMITS.uploads.previewCellChars characters. */
  rows: { row: number; input: string; columns: string[] }[];
  warnings: SourceWarning[];
}

/**
 * Shows how an upload would be read. Costs nothing and changes nothing.
 * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `overloaded`, and what would fail the job at its beginning
 */
export type PreviewUpload = (
  actor: Actor,
  uploadId: string,
  options: SourceOptions,
  cancelled: AbortSignal,
) => Promise<UploadPreview>;

function cellText(cell: string): string {
  const { previewCellChars } = LIMITS.uploads;
  return [...toText(cell.slice(0, 4 * previewCellChars))].slice(0, previewCellChars).join("");
}

function render({ columns, layout, candidates, rows, warnings }: DetectedTable): UploadPreview {
  const { emailColumn, encoding } = layout;
  const header = layout.header?.map((name) => toUtf8(name, encoding)) ?? null;
  const named = candidateColumns(header, candidates);
  return {
    layout: columns,
    header: header?.map((_, index) => columnName(header, index) ?? "") ?? null,
    candidates: named.map((column, i) => ({
      ...column,
      score: candidates[i]?.score ?? 0,
      parts: candidates[i]?.parts ?? { header: 0, addresses: 0, distinct: 0, filled: 0, position: 0 },
    })),
    rows: rows.slice(0, LIMITS.uploads.previewRows).map((cells, i) => ({
      row: i + 1,
      input: cellText(cells[emailColumn] ?? ""),
      columns: cells.map(cellText),
    })),
    warnings,
  };
}

/** The refusal of a job, as one of a request. */
function refusal({ code, detail, candidates }: JobProblem): AppError {
  if (isListError(code)) return new AppError(code, detail, candidates === undefined ? {} : { candidates });
  if (code === "bulk_too_large") return new AppError(code, detail);
  throw new Error(`the beginning of a source is refused by ${code}`);
}

export interface PreviewDeps {
  sources: Pick<UploadSources, "find">;
  streams: Pick<ObjectStreams, "head" | "openRead" | "readRange">;
}

export function createPreviewUpload({ sources, streams }: PreviewDeps): PreviewUpload {
  const { previews } = LIMITS.uploads;
  let underWay = 0;

  async function read(actor: Actor, uploadId: string, options: SourceOptions, cancelled: AbortSignal) {
    const { key, etag } = await sources.find(actor, uploadId);
    const ref = { bucket: null, key, etag };
    const workbook = { at: () => randomBytesOf(streams, ref, cancelled), scratch: null };
    const source = streams.openRead(ref, {}, cancelled);
    const opened = await openSource(source, { ...options, workbook }, actor.limits.bulkBytes);
    if (!opened.ok) throw refusal(opened);
    const { tolerated, form, close } = opened.opened;
    await close();
    const { warnings } = opened.detected;
    return render({ ...opened.detected, warnings: [...warnings, ...tolerated.warnings(bytesOf(form))] });
  }

  return async (actor, uploadId, options, cancelled) => {
    // Each has a quarter of a megabyte of text in several forms, and holds up other work for some 50 ms at a time.
    if (underWay >= previews)
      throw new AppError("overloaded", "Too many previews are in progress. Retry after 1 s.", {
        retryAfterS: 1,
      });
    underWay += 1;
    try {
      return await read(actor, uploadId, options, cancelled);
    } catch (error) {
      if (error instanceof MissingObject)
        throw new AppError("upload_missing", "The bytes of the upload are not there any more.", {
          cause: error,
        });
      throw error;
    } finally {
      underWay -= 1;
    }
  };
}
