import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import { ended, ledgerState, resultLines, resultsText } from "./bulk.ts";
import type { Team, TestApi, TestDeployment } from "./service.ts";

/** The expected result of a row. */
export interface ExpectedRow {
  input: string;
  /** 1-based row number, as in the results; null: the row repeats no other. */
  duplicateOf: number | null;
  verdict: "valid" | "invalid" | "unknown";
  columns: string[];
}

/** A list as customers have them, with the expected results. */
export interface MixedList {
  csv: string;
  rows: readonly ExpectedRow[];
  duplicates: number;
  malformed: number;
  /** Units charged: the number of distinct addresses with a verdict other than unknown. */
  charge: number;
}

export interface MixedListOptions {
  /** Must differ between the lists of one deployment, so that no row is answered from another list's evidence. */
  tag: string;
  rows: number;
  /** Every n-th row is greylisted at the first attempt; 0: no row. */
  greylistedEvery?: number;
}

const HEADER = ["id", "name", "email", "note"];
const EVERY_MALFORMED = 10;
const EVERY_REPEAT = 5;
/** Further back than a chunk is long, so that most repeats are in another chunk than their first row. */
const REPEAT_BACK = 1_301;

function quoted(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

/** Every tenth row is malformed, every fifth repeats an earlier one, every 200th is at a host that is down. */
function rowOf(i: number, rows: readonly ExpectedRow[], options: MixedListOptions): ExpectedRow {
  const { tag, greylistedEvery = 0 } = options;
  const columns = (email: string) => [
    `${tag}-${i}`,
    `Ünï "${i % 7}", Ltd`,
    email,
    i % 4 === 0 ? "a\r\nb" : " ",
  ];
  const row = (email: string, verdict: ExpectedRow["verdict"], duplicateOf: number | null = null) => ({
    input: email,
    duplicateOf,
    verdict,
    columns: columns(email),
  });
  if (i % EVERY_MALFORMED === 3) return row(`no address ${i}`, "invalid");
  const first =
    i % EVERY_REPEAT === 4 ? rows[(i * 7) % Math.max(1, i > REPEAT_BACK ? i - REPEAT_BACK : i)] : undefined;
  if (first?.input.includes("@")) {
    const number = first.duplicateOf ?? rows.indexOf(first) + 1;
    return row(first.input.replace(/test$/, "TEST"), first.verdict, number);
  }
  if (greylistedEvery > 0 && i % greylistedEvery === 1)
    return row(`greylisted-briefly-${tag}x${i}@plain.test`, "valid");
  if (i % 200 === 100) return row(`exists-${tag}x${i}@dead.test`, "unknown");
  if (i % 3 === 0) return row(`missing-${tag}x${i}@plain.test`, "invalid");
  return row(`exists-${tag}x${i}@plain.test`, "valid");
}

export function mixedList(options: MixedListOptions): MixedList {
  const rows: ExpectedRow[] = [];
  for (let i = 0; i < options.rows; i++) rows.push(rowOf(i, rows, options));
  return listOf(rows);
}

/** @param rows each of four columns, the third its address */
export function listOf(rows: readonly ExpectedRow[]): MixedList {
  const lines = [HEADER, ...rows.map(({ columns }) => columns)].map((line) => line.map(quoted).join(","));
  const own = rows.filter(({ duplicateOf }) => duplicateOf === null);
  return {
    csv: `${lines.join("\r\n")}\r\n`,
    rows,
    duplicates: rows.length - own.length,
    malformed: own.filter(({ input }) => !input.includes("@")).length,
    charge: own.filter(({ input, verdict }) => input.includes("@") && verdict !== "unknown").length,
  };
}

/** The job's deployment, and the team that reads it. */
export interface JobView {
  deployment: TestDeployment;
  api: TestApi;
  team: Team;
}

function countVerdicts(rows: readonly ExpectedRow[]) {
  const counts = { valid: 0, invalid: 0, risky: 0, unknown: 0 };
  for (const { verdict } of rows) counts[verdict] += 1;
  return counts;
}

/**
 * Asserts that the results, in both formats, have each row of the list: in order, its columns unchanged, with its
 * expected verdict.
 */
export async function assertRows(
  { api, team }: JobView,
  id: string,
  rows: readonly ExpectedRow[],
): Promise<void> {
  const lines = await resultLines(api, team.liveKey, id);
  assert.equal(lines.length, rows.length);
  for (const [i, line] of lines.entries()) {
    const { row, input, duplicate_of: duplicateOf, verdict, columns } = line;
    assert.deepEqual({ row, input, duplicateOf, verdict, columns }, { row: i + 1, ...rows[i] });
  }
  const csv: string[][] = parse(await resultsText(api, team.liveKey, id));
  assert.deepEqual(csv[0]?.slice(0, HEADER.length + 1), [...HEADER, "rcpt_verdict"]);
  assert.equal(csv.length, rows.length + 1);
  for (const [i, { columns, verdict }] of rows.entries())
    assert.deepEqual(csv[i + 1]?.slice(0, HEADER.length + 1), [...columns, verdict]);
}

/**
 * Asserts that the job completes: rows in order, answered as the mail world says, each distinct address charged once,
 * and one `bulk.completed` event.
 * @param usedBefore units of the team before the job
 */
export async function assertWhole(
  view: JobView,
  id: string,
  list: MixedList,
  usedBefore: number,
  withinMs = 240_000,
): Promise<void> {
  const { deployment, api, team } = view;
  const done = await ended(api, team.liveKey, id, withinMs);
  assert.equal(done.status, "completed", JSON.stringify(done.error));
  const total = list.rows.length;
  const { duplicates, malformed } = list;
  assert.deepEqual(done.rows, { total, processed: total, deferred: 0, duplicates, malformed, empty: 0 });
  assert.deepEqual(done.verdicts, countVerdicts(list.rows));
  await assertRows(view, id, list.rows);
  const { used, held } = await ledgerState(deployment, team.id);
  assert.deepEqual({ charged: used - usedBefore, held }, { charged: list.charge, held: 0 });
  const events = await deployment.sql`select type from events where data->>'id' = ${id}`;
  assert.deepEqual(
    events.map(({ type }) => type),
    ["bulk.completed"],
  );
}
