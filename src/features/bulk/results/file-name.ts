import type { JobRow } from "../jobs/job-sql.ts";
import type { Format } from "./result-rows.ts";
import type { WantedRows } from "./row-filter.ts";

/** Names of a file with results of a job. */
export interface ResultFileNames {
  /** Of the job's id: letters, digits, `_`, `-` and `.` only. */
  plain: string;
  /** Of the name of its list, in any script; null: the list has none. */
  ofList: string | null;
}

/** Of the list's name, and of the choice: with four bytes for each of the former they fit into the 255 of a file name. */
const STEM_CHARS = 48;
const CHOICE_CHARS = 56;
/** What a list's file may be called; two for compressed ones. */
const EXTENSIONS = /(\.(csv|tsv|txt|tab|xlsx|xlsm|gz|gzip)){1,2}$/i;
/** Controls, bidirectional and invisible format characters, lone surrogates, and what Windows reserves. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"|?*]/gu;

/** What a list is called, as a file name without path and extension; "": it has no such name. */
function stemOf(source: JobRow["source"]): string {
  if (source.type === "inline") return "";
  const path = source.type === "upload" ? source.filename : source.key;
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const clean = name.replace(UNFIT, " ").replace(EXTENSIONS, "").replace(/\s+/g, " ");
  // A dot in front hides a file, and one at the end is dropped by Windows.
  return [...clean.replace(/^[. ]+/, "")]
    .slice(0, STEM_CHARS)
    .join("")
    .replace(/[. ]+$/, "");
}

/** What the rows were chosen by, for a name; "": they are all rows. */
function choiceOf({ verdict, reason, provider }: WantedRows): string {
  return [verdict, reason, provider === "" ? "no_provider" : provider]
    .filter((choice) => choice !== null)
    .map((choice) => choice.replace(/[^a-z0-9_]+/gi, "_"))
    .join("-")
    .slice(0, CHOICE_CHARS);
}

/** The names of a file with those rows: `job_…-valid.csv` and `customers-valid.csv`; of all rows `customers-results.csv`. */
export function resultFileNames(
  { id, source }: Pick<JobRow, "id" | "source">,
  wanted: WantedRows & { format: Format },
): ResultFileNames {
  const choice = choiceOf(wanted);
  const stem = stemOf(source);
  return {
    plain: `${id}${choice === "" ? "" : `-${choice}`}.${wanted.format}`,
    // Another name than that of the list itself, which lies in the same folder.
    ofList: stem === "" ? null : `${stem}-${choice === "" ? "results" : choice}.${wanted.format}`,
  };
}
