import { styleText } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import type { Verified } from "../app/verifier.ts";
import { writeRecord } from "../features/bulk/csv/write.ts";
import { EVIDENCE_COLUMNS, RESULT_COLUMNS, resultCells } from "../features/bulk/results/result-cells.ts";
import { VERDICTS } from "../features/bulk/results/shard.ts";
import type { SmtpTraceEvent } from "../smtp/wire/trace.ts";
import type { Verdict } from "../verification/verdict/table.ts";
import type { ReadList } from "./check-input.ts";
import { jsonLine, printable, printableLines } from "./printable.ts";

const COLORS = { valid: "green", invalid: "red", risky: "yellow", unknown: "gray" } as const;
const VERDICT_CHARS = 8;
const ADDRESS_CHARS = 34;
/** Redraw interval of the progress bar, in milliseconds. */
const REDRAW_MS = 100;

/** Writes the results of `rcpt check`. */
export interface CheckOutput {
  /** Resolves when there is room for more. */
  add(verified: Verified): Promise<void>;
  /** All results were added. @param notice a note for the person; null: no note */
  end(notice: string | null): void;
  /** Takes the progress bar away. Idempotent. */
  close(): void;
}

/** One line for people. Colours only on a terminal, and not if NO_COLOR is set. */
function lineOf({
  verdict,
  email,
  input,
  reason,
  did_you_mean: meant,
  retry_at: retryAt,
  evidence,
}: Verified): string {
  const parts = [
    styleText(COLORS[verdict], verdict.padEnd(VERDICT_CHARS), { stream: process.stdout }),
    printable(email || (input ?? "")).padEnd(ADDRESS_CHARS),
    reason,
  ];
  if (meant !== null) parts.push(`(did you mean ${printable(meant)}?)`);
  if (retryAt !== null) parts.push(`(again after ${retryAt})`);
  if (evidence) parts.push(`${evidence.stage}: ${printable(evidence.reply)}`);
  return `${parts.join(" ")}\n`;
}

/** Writes each row of the list with its result, in the columns of a job's CSV results. */
function rowWriter(list: ReadList, withEvidence: boolean) {
  const { header, rows, columns, style } = list;
  const own = [...RESULT_COLUMNS, ...(withEvidence ? EVIDENCE_COLUMNS : [])];
  const names = header ?? Array.from({ length: columns }, (_, i) => `column_${i + 1}`);
  const padded = (cells: readonly string[]) => [...cells, ...Array<string>(columns - cells.length).fill("")];
  const record = (cells: readonly string[]) => `${writeRecord(cells, { ...style, columns: 0 })}\r\n`;
  const bytes = (text: string) => Buffer.from(text).toString("latin1");
  let at = 0;
  return {
    start: record([...padded(names), ...own]),
    row: (verified: Verified) => record([...padded(rows[at++] ?? []), ...resultCells(verified).map(bytes)]),
  };
}

const MARKS = { sent: ">", received: "<" } as const;

/** One line of `--trace`: `>` sent by us, `<` received from the server, `*` another event. */
export function traceLine({ connection, kind, text }: SmtpTraceEvent): string {
  const mark = kind === "sent" || kind === "received" ? MARKS[kind] : "*";
  return `[${connection}] ${mark} ${printable(text)}\n`;
}

function write(text: string, encoding: BufferEncoding): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.write(text, encoding)) resolve();
    else process.stdout.once("drain", resolve);
  });
}

/** The bar on standard error, where that is a terminal and the results go elsewhere; else null. */
function startBar(list: ReadList | null, trace: boolean): SingleBar | null {
  if (list === null || trace || !process.stderr.isTTY || process.stdout.isTTY) return null;
  const look = { format: "{bar} {value}/{total} addresses, {eta_formatted} left", hideCursor: true };
  const pace = { etaBuffer: 1_000, fps: 1_000 / REDRAW_MS };
  const bar = new SingleBar({ ...look, ...pace, stream: process.stderr }, Presets.shades_classic);
  bar.start(list.addresses.length, 0);
  return bar;
}

/** @param list rows that are printed with their results, unless JSON is requested; null: there are only addresses */
export function createCheckOutput(
  { json, evidence, trace = false }: { json: boolean; evidence: boolean; trace?: boolean },
  list: ReadList | null,
): CheckOutput {
  const startedMs = performance.now();
  const counts = new Map<Verdict, number>();
  const bar = startBar(list, trace);
  const csv = json || list === null ? null : rowWriter(list, evidence);
  let isFirst = true;

  function textOf(verified: Verified): string {
    if (json) return jsonLine(verified);
    if (csv === null) return lineOf(verified);
    return `${isFirst ? csv.start : ""}${csv.row(verified)}`;
  }

  function summary(): string {
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const each = VERDICTS.flatMap((verdict) => {
      const count = counts.get(verdict) ?? 0;
      return count === 0 ? [] : [`${count} ${verdict}`];
    });
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    return `${all} addresses in ${seconds} s: ${each.join(", ")}`;
  }

  return {
    async add(verified) {
      counts.set(verified.verdict, (counts.get(verified.verdict) ?? 0) + 1);
      const text = textOf(verified);
      isFirst = false;
      bar?.increment();
      if (csv === null) await write(text, "utf8");
      else if (process.stdout.isTTY)
        await write(printableLines(Buffer.from(text, "latin1").toString()), "utf8");
      else await write(text, "latin1");
    },
    end(notice) {
      bar?.stop();
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      if (all > 1) process.stderr.write(`${summary()}\n`);
      if (notice !== null) process.stderr.write(`rcpt: ${notice}\n`);
    },
    close() {
      bar?.stop();
    },
  };
}
