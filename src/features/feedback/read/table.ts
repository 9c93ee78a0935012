import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { isListError } from "../../../platform/job-errors.ts";
import type { Verdict } from "../../../verification/verdict/table.ts";
import type { JobProblem } from "../../bulk/analysis/layout.ts";
import { toUtf8 } from "../../bulk/csv/field.ts";
import { parseRecords } from "../../bulk/csv/parse.ts";
import { CsvProblemError } from "../../bulk/csv/problems.ts";
import { type OpenedSource, openSource } from "../../bulk/submit/open-source.ts";
import type { MessageOutcome, ReportedEvent } from "../event.ts";
import { readBounce } from "./bounce-class.ts";

/** Options of a table of events. */
export interface TableOptions {
  /** The column of addresses: a name in the header, or a number from 0; absent: the likeliest. */
  column?: string | number | undefined;
  /** Outcome of every row, for a table without such a column. */
  outcome?: MessageOutcome | undefined;
}

/** Maximum sizes of a file. Larger ones are refused with `body_too_large`. */
export interface FileBounds {
  events: number;
  messages: number;
  /** Time for each message of a mailbox. */
  mailMs: number;
  /** Time that the messages may take beyond that, all together. The message that is being read then is read to its end. */
  slowMailMs: number;
  rows: number;
  /** Bytes of a table without its compression. */
  textBytes: number;
}

const REMEDY = "send it in parts, or with `rcpt feedback FILE`, which reads it on your machine";

/** @throws AppError `body_too_large` */
export function requireWithin(count: number, most: number, what: string): void {
  if (count > most) throw new AppError("body_too_large", `The file has over ${most} ${what}: ${REMEDY}.`);
}

/** The events of a file, and how many of its rows or messages report nothing that counts. */
export interface FileReading {
  events: ReportedEvent[];
  ignored: number;
}

/** The names that columns have, without case, spaces and signs, the likeliest first. */
const COLUMN_NAMES = {
  outcome: ["outcome", "event", "eventtype", "status", "type", "result", "bouncetype", "bounceclass"],
  reply: [
    ...["reply", "smtpreply", "smtpresponse", "diagnosticcode", "diagnostic", "response", "bouncereason"],
    ...["bouncemessage", "message", "errormessage", "error", "description", "details", "reason"],
  ],
  enhanced: [
    "enhancedcode",
    "enhancedstatus",
    "enhancedstatuscode",
    "dsn",
    "statuscode",
    "bouncecode",
    "code",
  ],
  kind: ["bouncetype", "bounceclass", "bouncecategory", "classification", "subtype"],
  at: ["at", "timestamp", "eventtime", "bouncedat", "datetime", "time", "date", "createdat", "created"],
  verdict: ["rcptverdict", "verdict"],
  answered: ["rcptreason", "verdictreason"],
  provider: ["rcptmxprovider", "mxprovider", "provider"],
  rule: ["rcptsmtprule", "rule"],
} as const;

type ColumnName = keyof typeof COLUMN_NAMES;
type CellOf = (row: readonly string[], name: ColumnName) => string;

const VERDICTS: readonly string[] = ["valid", "invalid", "risky", "unknown"];
const COMPLAINED = /complain|spam|abuse/;
const NOT_COMPLAINED = /not[ _-]?(?:spam|abuse)/;
const BOUNCED = /bounce|undeliver|fail|reject|hard|soft|permanent|transient|not[ _-]?found|expired/;
/** Some exports have nothing but the enhanced code of the reply. */
const BOUNCE_CODE = /^[45]\.\d{1,3}\.\d{1,3}$/;
const DELIVERED = /^(?:delivered|delivery|success|successful|sent|ok|2\.\d+\.\d+)$/;

/** The outcome that a word of a mail system's export means; null: not a final one, such as an opening. */
export function outcomeOf(word: string): MessageOutcome | null {
  const text = word.trim().toLowerCase();
  if (NOT_COMPLAINED.test(text)) return null;
  if (COMPLAINED.test(text)) return "complained";
  if (BOUNCED.test(text) || BOUNCE_CODE.test(text)) return "bounced";
  return DELIVERED.test(text) ? "delivered" : null;
}

/** Whether the words state a permanent bounce; null: they state neither. */
function permanenceOf(words: string): boolean | null {
  if (/hard|permanent/i.test(words)) return true;
  return /soft|transient|temporary/i.test(words) ? false : null;
}

/** Epoch milliseconds of a date, or of a number of seconds or milliseconds since 1970; null: it is neither. */
function instantOf(text: string): number | null {
  if (/^\d{9,10}(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  if (/^\d{12,13}$/.test(text)) return Number(text);
  const ms = Date.parse(text.slice(0, LIMITS.feedback.fieldChars));
  return Number.isFinite(ms) ? ms : null;
}

const orNull = (text: string) => (text === "" ? null : text.slice(0, LIMITS.feedback.fieldChars));

function eventOf(
  address: string,
  outcome: MessageOutcome,
  row: readonly string[],
  cell: CellOf,
): ReportedEvent {
  const verdict = cell(row, "verdict").toLowerCase();
  const said = cell(row, "outcome");
  const statement = {
    reply: cell(row, "reply"),
    enhancedCode: orNull(cell(row, "enhanced")) ?? (BOUNCE_CODE.test(said) ? said : null),
    permanent: permanenceOf(`${said} ${cell(row, "kind")}`),
    mxHost: "",
  };
  return {
    address,
    outcome,
    atMs: instantOf(cell(row, "at")),
    bounce: outcome === "bounced" ? readBounce(statement) : null,
    verdict: VERDICTS.includes(verdict) ? (verdict as Verdict) : null,
    reason: orNull(cell(row, "answered")),
    provider: orNull(cell(row, "provider")),
    rule: orNull(cell(row, "rule")),
  };
}

/**
 * Index of the column of each kind; absent: the table has none. A column has one kind, except that an outcome may also
 * contain the bounce's kind.
 */
function findColumns(header: readonly string[], emailColumn: number): Map<ColumnName, number> {
  const names = header.map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
  const found = new Map<ColumnName, number>();
  for (const [kind, known] of Object.entries(COLUMN_NAMES) as [ColumnName, readonly string[]][]) {
    const name = known.find(
      (candidate) => names.includes(candidate) && names.indexOf(candidate) !== emailColumn,
    );
    if (name !== undefined) found.set(kind, names.indexOf(name));
  }
  return found;
}

function refusal({ code, detail, candidates }: JobProblem): AppError {
  if (isListError(code)) return new AppError(code, detail, candidates === undefined ? {} : { candidates });
  return new AppError("body_too_large", `${detail} ${REMEDY}.`);
}

const LF = 0x0a;

/** Line ends, each of which may end a row. */
function countLines(text: Buffer): number {
  let lines = 1;
  for (let at = text.indexOf(LF); at >= 0; at = text.indexOf(LF, at + 1)) lines += 1;
  return lines;
}

/** @throws CsvProblemError; AppError `body_too_large` */
async function rowsOf({ opened, detected }: OpenedSource, maxRows: number): Promise<string[][]> {
  const pieces: Buffer[] = [];
  for await (const piece of opened.text) pieces.push(piece);
  const text = Buffer.concat(pieces).subarray(detected.firstByte);
  requireWithin(countLines(text), maxRows, "rows");
  return parseRecords(text, detected.layout);
}

function noOutcome(): AppError {
  const message = "must be said: the table has no column that says what became of the messages";
  return new AppError("validation_failed", `outcome ${message}.`, { errors: [{ path: "outcome", message }] });
}

/**
 * The events of a CSV, TSV or list of addresses, whose layout is found out as that of a bulk job's list.
 * @throws AppError `validation_failed` without a column of outcomes, `body_too_large`, and the codes of lists that cannot be read
 */
export async function readTable(
  bytes: Buffer,
  { column, outcome }: TableOptions,
  bounds: FileBounds,
): Promise<FileReading> {
  const source = (async function* () {
    yield bytes;
  })();
  const named = column === undefined ? {} : { emailColumn: column };
  const opened = await openSource(source, named, bounds.textBytes);
  if (!opened.ok) throw refusal(opened);
  const { layout } = opened.detected;
  const rows = await rowsOf(opened, bounds.rows).catch((error: unknown) => {
    throw error instanceof CsvProblemError ? refusal(error.problem) : error;
  });
  const header = layout.header?.map((name) => toUtf8(name, layout.encoding)) ?? [];
  const columns = findColumns(header, layout.emailColumn);
  if (outcome === undefined && !columns.has("outcome")) throw noOutcome();
  const cell: CellOf = (row, name) => {
    const at = columns.get(name);
    return at === undefined ? "" : toUtf8(row[at] ?? "", layout.encoding).trim();
  };
  const reported = rows.flatMap((row) => {
    const address = toUtf8(row[layout.emailColumn] ?? "", layout.encoding).trim();
    const became = outcome ?? outcomeOf(cell(row, "outcome"));
    return address === "" || became === null ? [] : [{ address, became, row }];
  });
  requireWithin(reported.length, bounds.events, "events");
  const events = reported.map(({ address, became, row }) => eventOf(address, became, row, cell));
  return { events, ignored: rows.length - events.length };
}
