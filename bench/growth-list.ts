/** Lists that are answered without asking anybody, so that what is measured is the way of rows. Pure. */

export interface GrowthList {
  rows: number;
  /** Distinct domains, each below one that our lists call disposable. */
  domains: number;
}

const LISTED = "mailinator.com";
const HEADER = "id,name,email,note\r\n";
const ROWS_PER_PIECE = 1_000;

/** Row by row to the next domain; no address comes twice. */
export function* growthFile({ rows, domains }: GrowthList): Generator<Buffer> {
  yield Buffer.from(HEADER);
  for (let first = 0; first < rows; first += ROWS_PER_PIECE) {
    let text = "";
    for (let row = first; row < Math.min(rows, first + ROWS_PER_PIECE); row++)
      text += `${row},Customer ${row},customer${row}@d${row % domains}.${LISTED},note ${row}\r\n`;
    yield Buffer.from(text);
  }
}
