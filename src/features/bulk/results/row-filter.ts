import type { Reason, Verdict } from "../../../verification/verdict/table.ts";
import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import type { Dialect } from "../csv/dialect.ts";
import { fieldsOf } from "../csv/field.ts";
import { RESULT_COLUMNS, type RowResult } from "./result-cells.ts";

/** Conditions on rows: one address of the row must meet all of them. null: no condition. */
export interface WantedRows {
  verdict: Verdict | null;
  reason: Reason | null;
  /** Provider of the mail servers, as in `rcpt_mx_provider`; "": rows of no known one. */
  provider: string | null;
}

/** One condition on a result. */
interface Criterion {
  /** Index in RESULT_COLUMNS. */
  column: number;
  /** Text of its cell; UTF-8, a character a byte. */
  value: string;
  /** The same in a line of JSON. Within a string its quotes would be escaped, and no other object of a line has this member. */
  member: Buffer;
}

const VERDICT = RESULT_COLUMNS.indexOf("rcpt_verdict");
const REASON = RESULT_COLUMNS.indexOf("rcpt_reason");
const PROVIDER = RESULT_COLUMNS.indexOf("rcpt_mx_provider");

/** A result as JSON, as far as it is asked about. */
export type FilteredJson = Pick<VerificationResult, "verdict" | "reason"> & {
  checks: { mx: Pick<VerificationResult["checks"]["mx"], "provider"> };
};

/** Tells the results that are wanted, in each form that they have. */
export class RowFilter {
  /** The rarest criterion comes first. Empty: every row is wanted. */
  readonly criteria: readonly Criterion[];
  readonly #verdict: Verdict | null;

  constructor({ verdict, reason, provider }: WantedRows) {
    this.#verdict = verdict;
    const given = [
      { column: REASON, name: "reason", text: reason },
      { column: PROVIDER, name: "provider", text: provider },
      { column: VERDICT, name: "verdict", text: verdict },
    ];
    this.criteria = given.flatMap(({ column, name, text }) => {
      if (text === null) return [];
      // Only a provider may be empty: the cell is then, and in JSON the member is null.
      const member = Buffer.from(`"${name}":${JSON.stringify(text === "" ? null : text)}`);
      return [{ column, value: Buffer.from(text).toString("latin1"), member }];
    });
  }

  /** @param cells of RESULT_COLUMNS; latin1 */
  wantsCells(cells: readonly string[]): boolean {
    return this.criteria.every(({ column, value }) => cells[column] === value);
  }

  /** @param dialect of the job's results */
  wantsResult(result: RowResult, dialect: Dialect): boolean {
    if (this.#verdict !== null && result.verdict !== this.#verdict) return false;
    // Nothing else of a result is known but its cells.
    if (this.criteria.every(({ column }) => column === VERDICT)) return true;
    return this.wantsCells(fieldsOf(result.csv.toString("latin1").slice(1), dialect));
  }

  /** @param line of a row with one address */
  wantsLine(line: Buffer): boolean {
    return this.criteria.every(({ member }) => line.includes(member));
  }

  /** @param result parsed as latin1 */
  wantsJson({ verdict, reason, checks }: FilteredJson): boolean {
    const cells: string[] = [];
    cells[VERDICT] = verdict;
    cells[REASON] = reason;
    cells[PROVIDER] = checks.mx.provider ?? "";
    return this.wantsCells(cells);
  }
}
