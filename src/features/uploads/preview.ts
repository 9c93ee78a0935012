import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isListError } from "../../platform/job-errors.ts";
import type { TaskOwner } from "../../platform/request-thread.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";
import { MissingObject, type ObjectStreams } from "../../stores/objects/object-streams.ts";
import { countFirstRows, type FirstRows } from "../bulk/analysis/analyse.ts";
import type {
  CandidateColumn,
  JobProblem,
  SourceColumns,
  SourceOptions,
  SourceWarning,
} from "../bulk/analysis/layout.ts";
import type { ScoreParts } from "../bulk/columns/choose-column.ts";
import { candidateColumns, columnName } from "../bulk/columns/describe.ts";
import {
  type DetectedTable,
  type Detection,
  type DetectLayout,
  type DetectOptions,
  detectLayout,
} from "../bulk/csv/detect.ts";
import type { OpenedText } from "../bulk/csv/encoding/decode.ts";
import { byteUnitOf } from "../bulk/csv/encoding/text-form.ts";
import { toText, toUtf8 } from "../bulk/csv/field.ts";
import { LIST_WARNING, openSource } from "../bulk/submit/open-source.ts";
import type { UploadSources } from "../bulk/submit/submit-file.ts";
import { randomBytesOf } from "../bulk/workbook/random-bytes.ts";
import { type Actor, shareKey } from "../identity/actor.ts";

/** How a job would read an upload, by its first bytes. */
export interface UploadPreview {
  layout: SourceColumns;
  /** Names of the columns; null: there is no header. */
  header: string[] | null;
  /** The most likely first. */
  candidates: (CandidateColumn & { score: number; parts: ScoreParts })[];
  /** Cells are cut to LIMITS.uploads.previewCellChars characters. */
  rows: { row: number; input: string; columns: string[] }[];
  warnings: SourceWarning[];
  sample: PreviewSample;
  /** Exact where the sample is the whole file, otherwise by its size; null: its size does not tell. */
  estimated_rows: number | null;
}

/** The rows that were read. */
export interface PreviewSample {
  rows: number;
  /** Bytes of the file down to the end of the last row; where that is not known, of its text. */
  bytes: number;
  /** They are the whole file. */
  whole: boolean;
  /** Rows with the address of an earlier one. */
  repeats: number;
  /** Rows that `split_cells` would verify by each address in their cell, and those addresses. */
  several: { rows: number; addresses: number };
}

/**
 * Shows how an upload would be read. Costs nothing and changes nothing.
 * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `overloaded`, and every error that would fail the job
 *   at its start, or anywhere in a file that was read whole
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

type Estimate = Pick<UploadPreview, "sample" | "estimated_rows">;

/** Converts positions in the text to positions in the file; null: the conversion is not known. */
function positionInFile({ form, head }: OpenedText, isList: boolean): ((at: number) => number) | null {
  if (form.gzip || form.workbook === true || isList) return null;
  if (form.utf16 === null) return (at) => at;
  // The text is its UTF-8.
  return (at) => 2 * head.toString("utf8", 0, at).length;
}

/** @param fileBytes of the upload */
function estimate(opened: OpenedText, isList: boolean, first: FirstRows, fileBytes: number): Estimate {
  const { whole } = opened;
  const { rows, repeats, several, failure } = first;
  const counts = { rows, whole, repeats, several };
  if (whole) return { sample: { ...counts, bytes: fileBytes }, estimated_rows: rows };
  const inFile = positionInFile(opened, isList);
  if (inFile === null) return { sample: { ...counts, bytes: first.endByte }, estimated_rows: null };
  const bytes = inFile(first.endByte);
  const rowBytes = (bytes - inFile(first.firstByte)) / rows;
  const isKnown = rows > 0 && failure === null;
  return {
    sample: { ...counts, bytes },
    estimated_rows: isKnown ? rows + Math.round((fileBytes - bytes) / rowBytes) : null,
  };
}

function render(
  { columns, layout, candidates, rows, warnings }: DetectedTable,
  estimated: Estimate,
): UploadPreview {
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
    rows: rows.map((cells, i) => ({
      row: i + 1,
      input: cellText(cells[emailColumn] ?? ""),
      columns: cells.map(cellText),
    })),
    warnings,
    ...estimated,
  };
}

/** A job's refusal, as an error of the request. */
function refusal({ code, detail, candidates }: JobProblem): AppError {
  if (isListError(code)) return new AppError(code, detail, candidates === undefined ? {} : { candidates });
  if (code === "bulk_too_large") return new AppError(code, detail);
  throw new Error(`the beginning of a source is refused by ${code}`);
}

/** `detectForPreview`, off the event loop. @throws AppError `overloaded` */
export type DetectForPreview = (
  head: Buffer,
  options: DetectOptions,
  owner: TaskOwner,
) => Promise<PreviewDetection>;

export type PreviewDetection = (DetectedTable & { firstRows: FirstRows }) | Exclude<Detection, DetectedTable>;

/** The detected layout of a list, with the rows that a preview shows, and a count of those of the head. */
export async function detectForPreview(head: Buffer, options: DetectOptions): Promise<PreviewDetection> {
  const detected = await detectLayout(head, options);
  if (!detected.ok) return detected;
  const firstRows = await countFirstRows(head, detected, options);
  if (firstRows.useless !== null) return firstRows.useless;
  return { ...detected, rows: detected.rows.slice(0, LIMITS.uploads.previewRows), firstRows };
}

const NO_ROWS: FirstRows = {
  rows: 0,
  repeats: 0,
  several: { rows: 0, addresses: 0 },
  firstByte: 0,
  endByte: 0,
  failure: null,
  useless: null,
};

export interface PreviewDeps {
  detect: DetectForPreview;
  sources: Pick<UploadSources, "find">;
  streams: Pick<ObjectStreams, "head" | "openRead" | "readRange">;
}

export function createPreviewUpload({
  sources,
  streams,
  detect: detectElsewhere,
}: PreviewDeps): PreviewUpload {
  const { previews, previewsPerTeam, previewsKept } = LIMITS.uploads;
  const slots = createTeamSlots(
    { all: previews, perShare: previewsPerTeam, kept: previewsKept },
    () =>
      new AppError("overloaded", "Too many previews are in progress. Retry after 1 s.", { retryAfterS: 1 }),
  );

  async function read(actor: Actor, uploadId: string, options: SourceOptions, cancelled: AbortSignal) {
    const { key, etag, bytes } = await sources.find(actor, uploadId);
    const ref = { bucket: null, key, etag };
    const workbook = { at: () => randomBytesOf(streams, ref, cancelled), scratch: null };
    const source = streams.openRead(ref, {}, cancelled);
    const owner = { share: shareKey(actor), isCancelled: () => cancelled.aborted };
    let firstRows: FirstRows = NO_ROWS;
    const detect: DetectLayout = async (head, asked) => {
      const found = await detectElsewhere(head, asked, owner);
      if (found.ok) firstRows = found.firstRows;
      return found;
    };
    const opened = await openSource(source, { ...options, workbook, detect }, actor.limits.bulkBytes);
    if (!opened.ok) throw refusal(opened);
    const { tolerated, form, close } = opened.opened;
    await close();
    if (opened.opened.whole && firstRows.failure !== null) throw refusal(firstRows.failure);
    const { warnings } = opened.detected;
    const isList = warnings.some((warning) => warning.code === LIST_WARNING.code);
    return render(
      { ...opened.detected, warnings: [...warnings, ...tolerated.warnings(byteUnitOf(form))] },
      estimate(opened.opened, isList, firstRows, bytes),
    );
  }

  return async (actor, uploadId, options, cancelled) => {
    // Each has a quarter of a megabyte of text in several forms.
    const end = slots.take(shareKey(actor));
    try {
      return await read(actor, uploadId, options, cancelled);
    } catch (error) {
      if (error instanceof MissingObject)
        throw new AppError("upload_missing", "The bytes of the upload no longer exist.", {
          cause: error,
        });
      throw error;
    } finally {
      end();
    }
  };
}
