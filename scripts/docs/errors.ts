import { ERRORS } from "../../src/platform/errors.ts";
import { JOB_ERROR_CODES } from "../../src/platform/job-errors.ts";
import { ERROR_DESCRIPTIONS, JOB_ERROR_DESCRIPTIONS } from "./error-descriptions.ts";

const HEAD = `# Errors

Every error is \`application/problem+json\` (RFC 9457) with a stable \`code\`, which is what a program should switch on; the texts
may change. This page is written by \`npm run docs\` from \`src/platform/errors.ts\` and \`src/platform/job-errors.ts\`, and a test fails when
they differ. How to handle errors in a client: [api.md](api.md#errors). Which operation answers which: \`/docs\` of your server.

Repeat a request after 429 and 503, no sooner than \`Retry-After\` says, and after a lost connection with the same
\`Idempotency-Key\`. Other errors come again until something changes.
`;

const JOBS = `## Why a job failed

\`error.code\` of a job. A failed job costs nothing, unless the list was removed or replaced after rows had been answered. Codes of an
unreadable list also answer a preview, with 422.
`;

const isJobCode = (code: string): code is keyof typeof JOB_ERROR_DESCRIPTIONS =>
  Object.hasOwn(JOB_ERROR_DESCRIPTIONS, code);

/** docs/errors.md, as the code has it. */
export function renderErrors(): string {
  const requests = Object.entries(ERRORS).filter(([code, { status }]) => !isJobCode(code) || status !== 422);
  const sorted = requests.sort(([a, one], [b, other]) => one.status - other.status || a.localeCompare(b));
  const rows = sorted.map(([code, { status }]) => {
    const text = isJobCode(code)
      ? JOB_ERROR_DESCRIPTIONS[code]
      : ERROR_DESCRIPTIONS[code as keyof typeof ERROR_DESCRIPTIONS];
    return `| ${status} | \`${code}\` | ${text} |`;
  });
  const jobRows = JOB_ERROR_CODES.map((code) => `| \`${code}\` | ${JOB_ERROR_DESCRIPTIONS[code]} |`);
  return [
    HEAD,
    `## Of requests\n\n| status | code | meaning, and what to do |\n|---|---|---|\n${rows.join("\n")}\n`,
    `${JOBS}\n| code | meaning, and what to do |\n|---|---|\n${jobRows.join("\n")}\n`,
  ].join("\n");
}
