import { DOMAINS, domainName } from "../probing/plan.ts";

/** The list whose verification is watched: made row by row from the row's number, never held. Pure. */

/** Number of its run in the plan; other sections use other runs. */
export const MEMORY_RUN = 3_000;
export const MEMORY_HEADER = "id,name,email,note\r\n";
const ROWS_PER_PIECE = 1_000;
/** One row in so many is no address; one repeats an earlier row, the further back the later it comes. */
const MALFORMED_EVERY = 100;
const REPEAT_EVERY = 4;

function kindOf(row: number): "malformed" | "repeat" | "first" {
  if (row % MALFORMED_EVERY === MALFORMED_EVERY - 2) return "malformed";
  return row % REPEAT_EVERY === REPEAT_EVERY - 1 ? "repeat" : "first";
}

function addressOf(row: number): string {
  const kind = kindOf(row);
  if (kind === "malformed") return `nobody.${row}`;
  // The first row of a group of REPEAT_EVERY is a first itself, and each is repeated by two later rows at most.
  const first = kind === "first" ? row : Math.floor(row / (2 * REPEAT_EVERY)) * REPEAT_EVERY;
  return `user${first}@${domainName(MEMORY_RUN, first % DOMAINS)}`;
}

export function recordOf(row: number): string {
  return `${row},"Customer, ${row}",${addressOf(row)},note ${row}\r\n`;
}

/** Expected counts of the job. */
export function countsOf(rows: number): { total: number; duplicates: number; malformed: number } {
  let duplicates = 0;
  let malformed = 0;
  for (let row = 0; row < rows; row++) {
    const kind = kindOf(row);
    if (kind === "repeat") duplicates += 1;
    if (kind === "malformed") malformed += 1;
  }
  return { total: rows, duplicates, malformed };
}

/** The file, some rows at a time. */
export function* memoryList(rows: number): Generator<Buffer> {
  yield Buffer.from(MEMORY_HEADER);
  for (let first = 0; first < rows; first += ROWS_PER_PIECE) {
    let text = "";
    for (let row = first; row < Math.min(rows, first + ROWS_PER_PIECE); row++) text += recordOf(row);
    yield Buffer.from(text);
  }
}
