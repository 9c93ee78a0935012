import type { ConfigDiagnosis } from "../config/config.ts";
import type { Clock } from "../platform/time/clock.ts";
import { parseCommandLine, runCommand, type Terminal, UsageError } from "./command.ts";
import { BILLING_GROUP } from "./doctor/billing.ts";
import { COLLECTORS_GROUP } from "./doctor/collectors.ts";
import { CONFIGURATION_GROUP } from "./doctor/configuration.ts";
import { DEPLOYMENT_GROUP } from "./doctor/deployment.ts";
import { DNS_GROUP } from "./doctor/dns.ts";
import {
  type DoctorFinding,
  type DoctorGroup,
  type DoctorSubject,
  errorLine,
  type FindingState,
  fail,
} from "./doctor/finding.ts";
import { HOST_GROUP } from "./doctor/host.ts";
import { HTTP_GROUP } from "./doctor/http.ts";
import { MAIL_GROUP } from "./doctor/mail.ts";
import { OBJECTS_GROUP } from "./doctor/objects.ts";
import { POSTGRES_GROUP } from "./doctor/postgres.ts";
import { createRedaction, secretsOf } from "./doctor/redaction.ts";
import { REDIS_GROUP } from "./doctor/redis.ts";
import { SECRETS_GROUP } from "./doctor/secrets.ts";
import { SMTP_GROUP } from "./doctor/smtp.ts";

/** Groups of checks, in the order of the report. */
const GROUPS: readonly DoctorGroup[] = [
  CONFIGURATION_GROUP,
  HOST_GROUP,
  HTTP_GROUP,
  POSTGRES_GROUP,
  REDIS_GROUP,
  OBJECTS_GROUP,
  SECRETS_GROUP,
  DEPLOYMENT_GROUP,
  DNS_GROUP,
  SMTP_GROUP,
  MAIL_GROUP,
  BILLING_GROUP,
  COLLECTORS_GROUP,
];
const NAMES = GROUPS.map(({ name }) => name);

export const DOCTOR_USAGE = `usage: npm run doctor [-- --only NAME,... --timeout SECONDS --online --json]; names: ${NAMES.join(", ")}`;

const OPTIONS = {
  only: { type: "string" },
  timeout: { type: "string", default: "30" },
  online: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;
const TIMEOUT_MOST_S = 600;

const MARKS: Record<FindingState, string> = { ok: "ok", warn: "warn", fail: "FAIL", skipped: "-" };
const MARK_CHARS = 5;
const CHECK_CHARS_MOST = 28;

/** The findings of one group, as printed with `--json`. */
export interface GroupReport {
  name: string;
  title: string;
  findings: DoctorFinding[];
}

export interface DoctorCommand extends Terminal {
  argv: string[];
  clock: Clock;
  /** Reads the environment, only when the arguments are valid. */
  diagnose(): ConfigDiagnosis;
}

/**
 * The command `doctor`; the exit code: 0 nothing fails (there may be warnings), 1 something fails, 2 wrong arguments.
 * Examines all groups at once, each within the given time, independent of the others. Changes nothing except for its own
 * test objects, which it removes.
 */
export async function runDoctor(command: DoctorCommand): Promise<number> {
  let failing = false;
  const code = await runCommand("doctor", command, async () => {
    const { groups, timeoutMs, online, json } = parseArguments(command.argv);
    const diagnosis = command.diagnose();
    const subject = { diagnosis, config: diagnosis.config, clock: command.clock, online };
    const redact = createRedaction(secretsOf(diagnosis.config));
    const reports = await Promise.all(groups.map((group) => examine(group, subject, timeoutMs)));
    const told = reports.map((report) => ({ ...report, findings: report.findings.map(maskedBy(redact)) }));
    failing = told.some(({ findings }) => findings.some(({ state }) => state === "fail"));
    if (json) return `${JSON.stringify({ ok: !failing, groups: told }, null, 2)}\n`;
    return `${told.map(describe).join("\n")}\n${conclusion(told)}`;
  });
  return code === 0 && failing ? 1 : code;
}

function parseArguments(argv: string[]) {
  const { values, positionals } = parseCommandLine(
    { args: argv, options: OPTIONS, allowPositionals: true } as const,
    DOCTOR_USAGE,
  );
  if (positionals.length > 0) throw new UsageError(DOCTOR_USAGE);
  const wanted = values.only?.split(",").map((name) => name.trim()) ?? NAMES;
  const unknown = wanted.find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`there is no group ${JSON.stringify(unknown)} (${DOCTOR_USAGE})`);
  const seconds = /^\d{1,3}$/.test(values.timeout) ? Number(values.timeout) : 0;
  if (seconds < 1 || seconds > TIMEOUT_MOST_S)
    throw new UsageError(`--timeout must be 1 to ${TIMEOUT_MOST_S} seconds`);
  const groups = GROUPS.filter(({ name }) => wanted.includes(name));
  return { groups, timeoutMs: seconds * 1_000, online: values.online, json: values.json };
}

/** Never rejects. Reports the findings up to a group's failure or timeout, and that. */
async function examine(group: DoctorGroup, subject: DoctorSubject, timeoutMs: number): Promise<GroupReport> {
  const findings: DoctorFinding[] = [];
  const closings: (() => unknown)[] = [];
  let over = false;
  const note = (...some: DoctorFinding[]) => {
    if (!over) findings.push(...some);
  };
  const atEnd = (close: () => unknown) => {
    if (over) void Promise.resolve(close()).catch(() => undefined);
    else closings.unshift(close);
  };
  let late: { cancel(): void } | undefined;
  const tooLate = new Promise<void>((resolve) => {
    late = subject.clock.after(timeoutMs, () => {
      const advice = "Something does not answer: see what this group asks. --timeout gives it more time.";
      note(fail("time", `It did not end within ${timeoutMs / 1_000} s.`, advice));
      resolve();
    });
  });
  const work = group.examine(subject, { note, atEnd }).catch((error: unknown) => {
    note(
      fail("examination", `It broke off (${errorLine(error)}).`, "If nothing above explains it, report it."),
    );
  });
  await Promise.race([work, tooLate]);
  late?.cancel();
  over = true;
  const closed = closings.map(async (close) => close());
  await Promise.allSettled(closed);
  return { name: group.name, title: group.title, findings };
}

const maskedBy = (redact: (text: string) => string) => (finding: DoctorFinding) => ({
  ...finding,
  check: redact(finding.check),
  seen: redact(finding.seen),
  advice: redact(finding.advice),
});

function describe({ title, findings }: GroupReport): string {
  const width = Math.min(CHECK_CHARS_MOST, Math.max(...findings.map(({ check }) => check.length)));
  const rows = findings.map(({ check, state, seen, advice }) => {
    const row = `  ${MARKS[state].padEnd(MARK_CHARS)} ${check.padEnd(width)} ${seen}\n`;
    const indent = " ".repeat(2 + MARK_CHARS + 1 + width + 1);
    return advice === "" ? row : `${row}${indent}→ ${advice}\n`;
  });
  return `${title}\n${rows.join("")}`;
}

function conclusion(reports: readonly GroupReport[]): string {
  const states = reports.flatMap(({ findings }) => findings.map(({ state }) => state));
  const count = (state: FindingState) => states.filter((one) => one === state).length;
  const sum = `${count("ok")} in order, ${count("warn")} to look at, ${count("fail")} failing, ${count("skipped")} skipped`;
  return count("fail") === 0 ? `Nothing fails: ${sum}.\n` : `NOT IN ORDER: ${sum}.\n`;
}
