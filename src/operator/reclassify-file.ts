import { createReadStream } from "node:fs";
import * as v from "valibot";
import { LIMITS } from "../config/limits/limits.ts";
import { SMTP_STATUSES, type VerificationResult } from "../features/verify/answer/verification-result.ts";
import { parseAddress } from "../verification/address/address.ts";
import { type CatchAll, type Evidence, evidenceOf, type SmtpEvidence } from "../verification/evidence.ts";
import type { VerdictFault } from "../verification/verdict/table.ts";
import { UsageError } from "./command.ts";
import type { StoredEvidence } from "./reclassification.ts";

/** A line of a job's results, as far as it is read. */
type Line = Pick<VerificationResult, "email" | "checks" | "evidence">;

const STAGES: readonly SmtpEvidence["stage"][] = [
  ...(["dns", "connect", "greeting", "ehlo", "starttls", "mail", "rcpt"] as const),
];

const FAULTS: readonly VerdictFault[] = ["recipient", "their_server", "our_address", "our_network", "ours"];
const CATCH_ALLS: readonly CatchAll[] = ["accepted", "refused", "inconclusive", "not_probed"];

const text = v.pipe(v.string(), v.maxLength(LIMITS.reclassify.fieldChars));
const orNull = v.nullable(text);
const code = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(999));

/** The fields that are read of a line. All are validated, since a file may come from anywhere. */
const LineSchema = v.object({
  email: text,
  checks: v.object({
    mx: v.object({
      status: v.optional(text),
      hosts: v.pipe(v.array(text), v.maxLength(LIMITS.check.mxHostsReported)),
      provider: v.optional(orNull),
    }),
    disposable: v.object({ is_disposable: v.boolean(), source: text }),
    role: v.object({ role: orNull }),
    smtp: v.object({
      ...{ code, status: v.picklist(SMTP_STATUSES), catch_all: v.picklist(CATCH_ALLS) },
      ...{ latency_ms: v.pipe(v.number(), v.minValue(0)), enhanced_code: v.optional(orNull) },
      fault: v.optional(v.nullable(v.picklist(FAULTS))),
    }),
  }),
  evidence: v.nullable(v.object({ stage: v.picklist(STAGES), reply: text, rule: text, mx_host: text })),
});

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
 * Reads the results of a job with evidence, as JSONL.
 * @returns `not_probed` for a line whose mailbox was not probed
 * @throws UsageError with the number of a line that is not a result with evidence
 */
export async function* storedResults(path: string): AsyncGenerator<StoredEvidence | "not_probed"> {
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

/** @returns null for a line that is not a result with evidence */
function parse(text: string): Line | null {
  try {
    const line: unknown = JSON.parse(text);
    return v.is(LineSchema, line) ? (line as Line) : null;
  } catch {
    return null;
  }
}

/** Restores the evidence that a result contains. Fields that it lacks decide no class. */
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
  return evidenceOf({
    mx: { status: mx.status, hosts: mx.hosts, preferences: [], provider: mx.provider, ttlS: 0, fault: null },
    disposable: { listed: disposable.is_disposable, source: disposable.source },
    role: role.role,
    freeProvider: false,
    smtp: known,
  });
}
