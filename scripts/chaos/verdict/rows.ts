import { costOf, isRight, type Said, type Truth } from "../traffic/truth.ts";

/** A row of a list as it was sent. */
export interface SentRow {
  email: string;
  truth: Truth;
  /** Rows with the same key have the same address; null: no address. */
  key: string | null;
}

/** A row of the results as it came back. */
export interface ResultRow extends Said {
  email: string;
}

export interface RowComparison {
  sent: number;
  received: number;
  /** Rows that are not in the results. */
  lost: number;
  /** Result rows that were never submitted, or appear twice. */
  duplicates: number;
  /** Rows that are present, but not at their place. */
  misplaced: number;
  /** Rows whose answer contradicts the mail world. */
  wrong: { at: number; email: string; said: string }[];
  /** Units that the answered rows cost: one for each address, however often it is repeated. */
  units: number;
}

const WRONG_KEPT = 20;

function countsOf(emails: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const email of emails) counts.set(email, (counts.get(email) ?? 0) + 1);
  return counts;
}

/** Compares result rows with sent rows, by position and as multisets: each row once, in its place, rightly answered. */
export function compareRows(sent: readonly SentRow[], received: readonly ResultRow[]): RowComparison {
  const wanted = countsOf(sent.map(({ email }) => email));
  const found = countsOf(received.map(({ email }) => email));
  let lost = 0;
  let duplicates = 0;
  for (const [email, count] of wanted) lost += Math.max(0, count - (found.get(email) ?? 0));
  for (const [email, count] of found) duplicates += Math.max(0, count - (wanted.get(email) ?? 0));
  let misplaced = 0;
  const wrong: RowComparison["wrong"] = [];
  const charged = new Map<string, number>();
  for (const [at, row] of sent.entries()) {
    const result = received[at];
    if (result?.email !== row.email) {
      misplaced += 1;
      continue;
    }
    if (!isRight(row.truth, result) && wrong.length < WRONG_KEPT)
      wrong.push({ at, email: row.email, said: `${result.verdict} ${result.reason}` });
    if (row.key !== null) charged.set(row.key, Math.max(charged.get(row.key) ?? 0, costOf(result)));
  }
  const units = [...charged.values()].reduce((sum, cost) => sum + cost, 0);
  return { sent: sent.length, received: received.length, lost, duplicates, misplaced, wrong, units };
}
