import type { VerificationResult } from "../verify/verification-result.ts";
import { guardFormula, writeValue } from "./csv/write.ts";
import type { CellStyle } from "./layout.ts";

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

/** What a CSV of results has beyond those where the job asked for evidence. */
export const EVIDENCE_COLUMNS = [
  "rcpt_smtp_stage",
  "rcpt_smtp_code",
  "rcpt_smtp_enhanced_code",
  "rcpt_smtp_reply",
  "rcpt_smtp_rule",
  "rcpt_mx_host",
] as const;

/** What a verdict rests on in EVIDENCE_COLUMNS; empty where no server was asked. */
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
