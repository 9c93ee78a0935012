import { createReadStream } from "node:fs";
import { parseAddress } from "../check/address.ts";
import type { Evidence, SmtpEvidence } from "../check/evidence.ts";
import { LIMITS } from "../core/limits.ts";
import type { VerificationResult } from "../services/verify/verification-result.ts";
import { UsageError } from "./command.ts";
import type { Stored } from "./reclassification.ts";

/** A line of a job's results, as far as it is read. */
type Line = Pick<VerificationResult, "email" | "checks" | "evidence">;

/**
 * The lines of a file, of LIMITS.reclassify.lineBytes at most.
 * @throws UsageError for a longer one; the file system's errors
 */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const lines = (rest + (chunk as string)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LIMITS.reclassify.lineBytes)
      throw new UsageError("the file has a line that is too long");
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/**
 * The results of a job with evidence, as JSONL.
 * @returns `not_probed` for a line whose mailbox was not asked about
 * @throws UsageError for a line that is no result with evidence, by its number
 */
export async function* storedResults(path: string): AsyncGenerator<Stored | "not_probed"> {
  let number = 0;
  for await (const text of linesOf(path)) {
    number += 1;
    if (text.trim() === "") continue;
    const line = parse(text);
    if (line === null)
      throw new UsageError(`line ${number} is no result with evidence (a job needs "evidence": true)`);
    const { evidence, email } = line;
    if (evidence === null || evidence === undefined) yield "not_probed";
    else {
      const address = parseAddress(email);
      yield { evidence: restored(line, evidence), address: address.ok ? address.address : null };
    }
  }
}

function parse(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Line> | null;
    if (typeof line?.email !== "string" || line.evidence === undefined) return null;
    const { checks, evidence } = line;
    if (typeof checks?.smtp?.status !== "string" || typeof checks.smtp.code !== "number") return null;
    const texts = evidence === null ? [] : [evidence.stage, evidence.reply, evidence.rule];
    return texts.every((field) => typeof field === "string") && Array.isArray(checks.mx?.hosts)
      ? (line as Line)
      : null;
  } catch {
    return null;
  }
}

/** Evidence as it was, where the result says it; what it does not say decides no class. */
function restored({ checks }: Line, said: NonNullable<Line["evidence"]>): Evidence {
  const { smtp, mx, disposable, role } = checks;
  const known: SmtpEvidence = {
    class: smtp.status === "skipped" ? "smtp_protocol_error" : smtp.status,
    fault: smtp.fault === "ours" ? null : smtp.fault,
    stage: said.stage as SmtpEvidence["stage"],
    code: smtp.code,
    enhancedCode: smtp.enhanced_code,
    reply: said.reply,
    rule: said.rule,
    mxHost: said.mx_host,
    path: "",
    trusted: true,
    retryAfterS: null,
    latencyMs: smtp.latency_ms,
    tls: false,
    catchAll: smtp.catch_all,
  };
  return {
    v: 2,
    mx: { status: mx.status, hosts: mx.hosts, provider: mx.provider, ttlS: 0, fault: null },
    disposable: { listed: disposable.is_disposable, source: disposable.source },
    role: role.role,
    freeProvider: false,
    smtp: known,
  };
}
