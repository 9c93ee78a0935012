import type { VerificationResult } from "../verify/verification-result.ts";
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

/** A result in RESULT_COLUMNS; what there is nothing of is empty. */
export function resultCells(result: VerificationResult): string[] {
  const { verdict, reason, risk_score, email, did_you_mean, checks } = result;
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
  ];
}

function cell(value: string, { delimiter, escapeFormulas }: CellStyle): string {
  const guarded = escapeFormulas && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  const quoted = guarded.includes(delimiter) || /["\r\n]/.test(guarded);
  return quoted ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** The cells of a result, each with its delimiter before it. */
export function renderCells(result: VerificationResult, style: CellStyle): string {
  let text = "";
  for (const value of resultCells(result)) text += style.delimiter + cell(value, style);
  return text;
}
