import type { Verdict } from "../../../verification/verdict/table.ts";
import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import type { CellStyle } from "../analysis/layout.ts";
import { RowBuffer } from "../analysis/row-buffer.ts";
import { guardFormula, writeValue } from "../csv/write.ts";

/** The columns that a CSV of results has beyond those of its source, in order. */
export const RESULT_COLUMNS = [
  "rcpt_verdict",
  "rcpt_reason",
  "rcpt_risk_score",
  "rcpt_email",
  "rcpt_did_you_mean",
  "rcpt_catch_all",
  "rcpt_role",
  "rcpt_disposable",
  "rcpt_mx_provider",
] as const;

/** Additional columns of CSV results, if the job asked for evidence. */
export const EVIDENCE_COLUMNS = [
  "rcpt_smtp_stage",
  "rcpt_smtp_code",
  "rcpt_smtp_enhanced_code",
  "rcpt_smtp_reply",
  "rcpt_smtp_rule",
  "rcpt_mx_host",
] as const;

/** The evidence of a verdict, in EVIDENCE_COLUMNS; empty if no server was asked. */
function evidenceCells(evidence: NonNullable<VerificationResult["evidence"]> | null): string[] {
  if (evidence === null) return EVIDENCE_COLUMNS.map(() => "");
  const { stage, code, enhanced_code, reply, rule, mx_host } = evidence;
  return [stage, code === 0 ? "" : String(code), enhanced_code ?? "", reply, rule, mx_host];
}

/** A result in RESULT_COLUMNS, with those of EVIDENCE_COLUMNS where it has evidence; what there is nothing of is empty. */
export function resultCells(result: VerificationResult): string[] {
  const { verdict, reason, risk_score, email, did_you_mean, checks, evidence } = result;
  return [
    verdict,
    reason,
    String(risk_score),
    email,
    did_you_mean ?? "",
    checks.smtp.catch_all,
    checks.role.role ?? "",
    String(checks.disposable.is_disposable),
    checks.mx.provider ?? "",
    ...(evidence === undefined ? [] : evidenceCells(evidence)),
  ];
}

/** Text as the bytes of its UTF-8, a character a byte: as lists are read and written. */
function toBytes(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString("latin1") : text;
}

/** The cells of a result, each with its delimiter before it; a character a byte. */
export function renderCells(result: VerificationResult, style: CellStyle): string {
  let text = "";
  for (const cell of resultCells(result)) {
    const value = toBytes(cell);
    text += style.delimiter + writeValue(style.escapeFormulas ? guardFormula(value) : value, style);
  }
  return text;
}

/** Approximate bytes of one result. A buffer that is too small grows. */
const RESULT_BYTES = 1_024;

const BRACE = Buffer.from("{");

/** A result as the results of a job have it, in whatever form a shard keeps it. Its bytes are written once, where they belong. */
export abstract class RowResult {
  abstract readonly verdict: Verdict;

  /** The cells of RESULT_COLUMNS, each with its delimiter before it; UTF-8. */
  abstract writeCells(to: RowBuffer): void;

  /** The result's JSON without the brace that opens it; UTF-8. */
  abstract writeMembers(to: RowBuffer): void;

  /** The cells and then the JSON. @returns bytes of the cells */
  writeBoth(to: RowBuffer): number {
    const from = to.at;
    this.writeCells(to);
    const csvBytes = to.at - from;
    to.all(BRACE);
    this.writeMembers(to);
    return csvBytes;
  }

  get csv(): Buffer {
    const written = new RowBuffer(RESULT_BYTES);
    this.writeCells(written);
    return written.take();
  }

  get json(): Buffer {
    const written = new RowBuffer(RESULT_BYTES);
    written.all(BRACE);
    this.writeMembers(written);
    return written.take();
  }
}
