/** Lists that are answered without any server, so that only the processing of rows is measured. Pure. */

export interface GrowthList {
  /** Lists of different runs have no address in common. */
  run: number;
  rows: number;
  /** Distinct domains, each below one on the team's blocklist: their rows need no look-up, not even of their MX. */
  domains: number;
}

export const BLOCKED_ABOVE = "blocked.example.org";
const HEADER = "id,name,email,note\r\n";
const ROWS_PER_PIECE = 1_000;

/** Row by row to the next domain, so that no two rows of a chunk need be of one; no address comes twice. */
export function* growthFile({ run, rows, domains }: GrowthList): Generator<Buffer> {
  yield Buffer.from(HEADER);
  for (let first = 0; first < rows; first += ROWS_PER_PIECE) {
    let text = "";
    for (let row = first; row < Math.min(rows, first + ROWS_PER_PIECE); row++)
      text += `${row},Customer ${row},customer${row}.${run}@d${row % domains}.${BLOCKED_ABOVE},note ${row}\r\n`;
    yield Buffer.from(text);
  }
}
