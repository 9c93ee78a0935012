import { DOMAINS, domainName } from "../probing/plan.ts";

/**
 * Lists whose rows are all answered in the same way; generated row by row from the row's number, never stored. Pure.
 */

/** `mailboxes`: each is probed, or known from before. `lists`: none needs a server. */
export type ThroughputKind = "mailboxes" | "lists";

export interface ThroughputList {
  kind: ThroughputKind;
  /** Number of the run that names the domains, so that lists of different runs have no address in common. */
  run: number;
  rows: number;
}

/** On the team's blocklist. */
export const BLOCKED_DOMAIN = "blocked.example.org";
/** On the lists of throw-away domains that we come with. */
export const DISPOSABLE_DOMAINS = ["mailinator.com", "guerrillamail.com", "yopmail.com"] as const;
const HEADER = "id,name,email,note\r\n";
const ROWS_PER_PIECE = 1_000;
/** One row in so many has quotes round a name with a comma in it, as exports have. */
const QUOTED_EVERY = 20;

/** About one in ten local parts does not exist, as in `plan.ts`. */
const MISSING_EVERY = 10;

function isMissing(row: number): boolean {
  return Math.floor(row / DOMAINS) % MISSING_EVERY === MISSING_EVERY - 1;
}

function addressOf({ kind, run }: ThroughputList, row: number): string {
  if (kind === "mailboxes")
    return `${isMissing(row) ? "nobody" : "user"}${row}@${domainName(run, row % DOMAINS)}`;
  if (row % 3 === 0) return `customer.${run}.${row}`;
  if (row % 3 === 1) return `customer.${run}.${row}@${BLOCKED_DOMAIN}`;
  return `customer.${run}.${row}@${DISPOSABLE_DOMAINS[row % DISPOSABLE_DOMAINS.length]}`;
}

function recordOf(list: ThroughputList, row: number): string {
  const name = row % QUOTED_EVERY === 0 ? `"Customer, ${row}"` : `Customer ${row}`;
  return `${row},${name},${addressOf(list, row)},note ${row}\r\n`;
}

/** Expected number of rows by verdict. */
export function verdictsOf({ kind, rows }: ThroughputList): Record<"valid" | "invalid" | "risky", number> {
  let invalid = 0;
  for (let row = 0; row < rows; row++) if (kind === "lists" ? row % 3 === 0 : isMissing(row)) invalid += 1;
  return kind === "lists"
    ? { valid: 0, invalid, risky: rows - invalid }
    : { valid: rows - invalid, invalid, risky: 0 };
}

/** The file, some rows at a time. */
export function* throughputList(list: ThroughputList): Generator<Buffer> {
  yield Buffer.from(HEADER);
  for (let first = 0; first < list.rows; first += ROWS_PER_PIECE) {
    let text = "";
    for (let row = first; row < Math.min(list.rows, first + ROWS_PER_PIECE); row++)
      text += recordOf(list, row);
    yield Buffer.from(text);
  }
}
