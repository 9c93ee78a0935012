import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isListError } from "../../platform/job-errors.ts";
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
import type { DetectedTable } from "../bulk/csv/detect.ts";
import type { OpenedText } from "../bulk/csv/encoding/decode.ts";
import { byteUnitOf } from "../bulk/csv/encoding/text-form.ts";
import { toText, toUtf8 } from "../bulk/csv/field.ts";
import { LIST_WARNING, openSource } from "../bulk/submit/open-source.ts";
import { bytesByReads, type ReadBytes } from "./remote-bytes.ts";

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
    rows: rows.slice(0, LIMITS.uploads.previewRows).map((cells, i) => ({
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

/** A file to show, and how to read it. */
export interface PreviewInput {
  /** Size of the file. */
  fileBytes: number;
  options: SourceOptions;
  /** Maximum bytes of the team's lists. */
  bulkBytes: number;
}

/**
 * Reads the beginning of a file as its job would: up to 0.1 s of CPU for a text, some seconds for a workbook made for it. So
 * the API does it in a thread (workers/request.ts).
 * @param readBytes of the file
 * @throws AppError the refusals of `PreviewUpload`; errors of `readBytes`
 */
export async function readPreview(
  { fileBytes, options, bulkBytes }: PreviewInput,
  readBytes: ReadBytes,
): Promise<UploadPreview> {
  const { previewFileBytes } = LIMITS.uploads;
  const bytes = bytesByReads(fileBytes, readBytes);
  const source = bytes.open(0, fileBytes);
  const workbook = { at: async () => bytes, scratch: null };
  const opening = await openSource(source, { ...options, workbook }, Math.min(bulkBytes, previewFileBytes));
  if (!opening.ok) throw refusal(opening);
  const { opened, detected } = opening;
  const { tolerated, form, head, whole, sheet } = opened;
  await opened.close();
  const firstRows = await countFirstRows(head, detected, { whole, sheetRead: sheet?.sheetRead ?? null });
  const refused = firstRows.useless ?? (whole ? firstRows.failure : null);
  if (refused !== null) throw refusal(refused);
  const warnings = [...detected.warnings, ...tolerated.warnings(byteUnitOf(form))];
  const isList = detected.warnings.some((warning) => warning.code === LIST_WARNING.code);
  return render({ ...detected, warnings }, estimate(opened, isList, firstRows, fileBytes));
}
