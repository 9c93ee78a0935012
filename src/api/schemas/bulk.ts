import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { BulkJob } from "../../features/bulk/jobs/job-view.ts";
import { JOB_ERROR_CODES, JOB_ERRORS } from "../../platform/job-errors.ts";
import { countField, named, verdictCountsField } from "./fields.ts";
import { fileOptionEntries, storableText } from "./file-options.ts";
import { CandidateSchema, inlineSourceColumnsExample, JobSourceSchema } from "./source-columns.ts";

const { inlineRows, keyBytes, metadataPairs, metadataKeyChars, metadataValueChars, metadataBytes } =
  LIMITS.bulk;

const described = (text: string) => v.description<string, string>(text);
const text = (description: string) => v.pipe(v.string(), described(description));
const instant = (description: string) => v.pipe(v.string(), v.isoTimestamp(), described(description));

/**
 * A list of strings. Only the first item that is not a string is reported: reporting a million of them would block the
 * process. A list that is too long is not looked at here; the service refuses it with a code of its own.
 */
function emailList() {
  const schema = v.pipe(
    v.array(v.string()),
    v.minLength(1, "must have at least 1 item"),
    v.description(
      `Up to ${inlineRows} addresses (more: 413 \`inline_too_large\`). A badly formed one is a row with the verdict ` +
        "`invalid`; one that repeats an earlier one copies its result. Neither is charged. Two are the same when their " +
        "domains are, whatever the case, and their local parts to the letter: `Someone@` is not `someone@`.",
    ),
  );
  const run: (typeof schema)["~run"] = (dataset, config) => {
    const { value } = dataset;
    if (Array.isArray(value) && value.length > inlineRows) return { typed: true, value };
    return schema["~run"](dataset, { ...config, abortEarly: true });
  };
  return { ...schema, "~run": run };
}

/** Pairs of strings. Of an object with too many only that is said: its pairs are not looked at. */
function metadataPairsOf() {
  const tooMany = `must have at most ${metadataPairs} names`;
  const schema = v.pipe(
    v.record(
      v.pipe(
        v.string(),
        v.minLength(1, "names must not be empty"),
        v.maxLength(metadataKeyChars),
        storableText,
      ),
      v.pipe(v.string(), v.maxLength(metadataValueChars), storableText),
    ),
    v.check((pairs) => Object.keys(pairs).length <= metadataPairs, tooMany),
    v.check(
      (pairs) => Buffer.byteLength(JSON.stringify(pairs)) <= metadataBytes,
      `must be at most ${metadataBytes} bytes as JSON`,
    ),
    v.description(
      `Yours: ${metadataPairs} pairs of strings at most, names up to ${metadataKeyChars} and values up to ` +
        `${metadataValueChars} characters, ${metadataBytes} bytes as JSON. Comes back with the job and its events.`,
    ),
  );
  const refused = v.pipe(
    v.unknown(),
    v.check(() => false, tooMany),
  );
  const run: (typeof schema)["~run"] = (dataset, config) => {
    const { value } = dataset;
    const count = typeof value === "object" && value !== null ? Object.keys(value).length : 0;
    return count > metadataPairs
      ? (refused["~run"](dataset, config) as never)
      : schema["~run"](dataset, config);
  };
  return { ...schema, "~run": run };
}

const s3Place = v.strictObject({
  bucket: v.pipe(v.string(), v.minLength(1), v.maxLength(255), storableText, described("The bucket.")),
  key: v.pipe(
    v.string(),
    v.minLength(1),
    v.check((key) => Buffer.byteLength(key) <= keyBytes, `must be at most ${keyBytes} bytes`),
    storableText,
    described("The object's key, below a prefix that the operator has granted to the team."),
  ),
});

const LISTS = ["emails", "upload_id", "s3"] as const;

const submission = v.strictObject({
  emails: v.optional(emailList()),
  upload_id: v.optional(
    v.pipe(v.string(), v.maxLength(100), described("A file that you have uploaded: its id, `upl_…`.")),
  ),
  s3: v.optional(v.pipe(s3Place, v.description("An object of a bucket of yours."))),
  ...fileOptionEntries,
  escape_formulas: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        "Put an apostrophe before cells of the CSV results that a spreadsheet would take for a formula, and a byte order mark " +
          "before the results of a list in UTF-8, since Excel expects another encoding without one. It changes values: yours come " +
          "back as they were without it.",
      ),
    ),
    false,
  ),
  split_cells: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        `Verify each of up to ${LIMITS.bulk.cellAddresses} addresses of a cell; without it a cell with several is malformed, ` +
          "`several_addresses`. Results have a row for each of the list's: in CSV the values of its addresses stand in our " +
          "columns with `;` between them (a `;` or backslash within a value has a backslash before it), in JSONL the row has " +
          "`parts`, a result for each address. All else counts addresses as rows: `rows`, `verdicts`, the bounds of a list " +
          "(of its bytes a row counts once for each address) and what is charged.",
      ),
    ),
    false,
  ),
  evidence: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        "Add to each row of the results what its verdict rests on: `evidence` in JSONL, columns of its own in CSV.",
      ),
    ),
    false,
  ),
  metadata: v.optional(metadataPairsOf(), {}),
  webhook_url: v.optional(
    v.nullable(
      v.pipe(
        v.string(),
        described(
          "Told of the job's end too, beside the team's webhooks; signed with the team's own secret, that of a test key's job with the " +
            "team's test secret. `POST /v1/team/webhook-secret` makes both; they must be there.",
        ),
      ),
    ),
    null,
  ),
});

type Submission = v.InferOutput<typeof submission>;

/** Requires a file for options that apply only to files: an inline list has one column and no format. */
function requireFile<
  Name extends "email_column" | "has_header" | "delimiter" | "sheet" | "escape" | "encoding",
>(name: Name) {
  return v.forward(
    v.check<Submission, string>(
      (body) => body.emails === undefined || body[name] === undefined,
      "is of files: `emails` are addresses and nothing else",
    ),
    [name],
  );
}

/** A list has exactly one of three forms: the later one is reported as too much. */
function requireWithout<Name extends "upload_id" | "s3">(
  name: Name,
  others: readonly (typeof LISTS)[number][],
) {
  return v.forward(
    v.check<Submission, string>(
      (body) => body[name] === undefined || others.every((other) => body[other] === undefined),
      `must not be beside ${others.join(" or ")}: exactly one of ${LISTS.join(", ")} is the list`,
    ),
    [name],
  );
}

export const SubmitBulkSchema = v.pipe(
  submission,
  v.forward(
    v.check<Submission, string>(
      (body) => LISTS.some((name) => body[name] !== undefined),
      "is required, or upload_id, or s3",
    ),
    ["emails"],
  ),
  requireWithout("upload_id", ["emails"]),
  requireWithout("s3", ["emails", "upload_id"]),
  requireFile("email_column"),
  requireFile("has_header"),
  requireFile("delimiter"),
  requireFile("sheet"),
  requireFile("escape"),
  requireFile("encoding"),
  v.forward(
    v.check<Submission, string>(
      (body) => body.delimiter !== "\\" || body.escape !== "\\",
      "must not be the delimiter",
    ),
    ["escape"],
  ),
);

const JOB_ERROR_WORDS = `Stable. ${JOB_ERROR_CODES.map((code) => `\`${code}\`: ${JOB_ERRORS[code]}`).join(" ")}`;

export const BulkJobSchema = named(
  "BulkJob",
  v.object({
    id: text("The job's id, `job_…`."),
    status: v.pipe(
      v.picklist([
        "queued",
        "analyzing",
        "processing",
        "deferred",
        "finalizing",
        "completed",
        "failed",
        "cancelled",
      ]),
      v.description(
        "`analyzing`: its file is read; `deferred`: all rows that are left wait for their mail servers. The last three " +
          "are ends.",
      ),
    ),
    source: JobSourceSchema,
    created_at: instant("When it was submitted."),
    started_at: v.nullable(instant("When its file, or its first rows, were begun.")),
    completed_at: v.nullable(instant("When it ended, whichever way.")),
    rows: v.pipe(
      v.object({
        total: countField(
          "Rows of the list, or its addresses with `split_cells`; 0 until its file has been read.",
        ),
        processed: countField("Rows that are answered."),
        deferred: countField("Rows that wait for their mail server."),
        duplicates: countField(
          "Rows whose normalised address repeats an earlier one's: they copy its result and cost nothing.",
        ),
        malformed: countField("Rows with something else than one address: `invalid`; they cost nothing."),
        empty: countField("Rows with nothing where the address should be: `unknown`; they cost nothing."),
      }),
      v.description("Rows by what has become of them."),
    ),
    progress: v.pipe(
      v.number(),
      v.minValue(0),
      v.maxValue(1),
      v.description("Share of the rows that are answered."),
    ),
    eta_seconds: v.nullable(
      countField(
        "Until all rows are answered: at the pace so far, and not before the last of those that wait is tried again; null " +
          "while nobody knows, as in a job's first seconds, and once all are answered.",
      ),
    ),
    rows_per_second: v.nullable(
      v.pipe(
        v.number(),
        v.description("The pace since `started_at`: of a file, the time to read it included."),
      ),
    ),
    units: countField(
      "Units of the daily quota that the answered rows cost so far, at last what the job cost: 0 of test keys, and of a failed " +
        "job that costs nothing.",
    ),
    verdicts: verdictCountsField("The answered rows by verdict."),
    results: v.pipe(
      v.nullable(
        v.object({
          csv_url: text(
            "As CSV. A path where the deployment does not say where it is reached (`PUBLIC_URL`).",
          ),
          jsonl_url: text("As JSONL, with every field."),
          expires_at: instant("The results are removed then."),
        }),
      ),
      v.description("Where the results are, with your credential; null before the end and after a failure."),
    ),
    error: v.pipe(
      v.nullable(
        named(
          "JobError",
          v.object({
            code: v.pipe(v.picklist(JOB_ERROR_CODES), v.description(JOB_ERROR_WORDS)),
            detail: text("What went wrong with this list, in words."),
            candidates: v.optional(
              v.pipe(
                v.array(CandidateSchema),
                v.description(
                  "Of `email_column_ambiguous`: the columns to choose from, the likeliest first.",
                ),
              ),
            ),
          }),
        ),
      ),
      v.description("Why the job failed; null of one that has not."),
    ),
    metadata: v.pipe(v.record(v.string(), v.string()), v.description("As it was sent.")),
    livemode: v.pipe(
      v.boolean(),
      v.description(
        "False for jobs of test keys, which check nothing and cost nothing. A test key sees no others: to it they are not found.",
      ),
    ),
  }),
);

const RESULTS = "https://api.example.com/v1/bulk-jobs/job_01h455vb4pex5vsknk084sn02q/results";

/** Path parameters of one job. */
export const JobParamsSchema = v.strictObject({ id: text("The job's id, `job_…`.") });

export const queuedJob: BulkJob = {
  id: "job_01h455vb4pex5vsknk084sn02q",
  status: "queued",
  source: { type: "inline", columns: inlineSourceColumnsExample, warnings: [] },
  created_at: "2026-01-01T00:00:00.000Z",
  started_at: null,
  completed_at: null,
  rows: { total: 4, processed: 0, deferred: 0, duplicates: 1, malformed: 1, empty: 0 },
  progress: 0,
  eta_seconds: null,
  rows_per_second: null,
  units: 0,
  verdicts: { valid: 0, invalid: 0, risky: 0, unknown: 0 },
  results: null,
  error: null,
  metadata: { campaign: "spring" },
  livemode: true,
};

export const completedJob: BulkJob = {
  ...queuedJob,
  status: "completed",
  started_at: "2026-01-01T00:00:00.500Z",
  completed_at: "2026-01-01T00:00:02.500Z",
  rows: { ...queuedJob.rows, processed: 4 },
  progress: 1,
  rows_per_second: 2,
  units: 2,
  verdicts: { valid: 2, invalid: 1, risky: 1, unknown: 0 },
  results: {
    csv_url: `${RESULTS}?format=csv`,
    jsonl_url: `${RESULTS}?format=jsonl`,
    expires_at: "2026-01-31T00:00:02.500Z",
  },
};

export const failedJob: BulkJob = {
  ...queuedJob,
  id: "job_01h455vb4pex5vsknk084sn02r",
  status: "failed",
  source: {
    type: "upload",
    upload_id: "upl_01h455vb4pex5vsknk084sn02q",
    filename: "list.csv",
    columns: null,
    warnings: [],
  },
  started_at: "2026-01-01T00:00:00.500Z",
  completed_at: "2026-01-01T00:00:00.700Z",
  rows: { total: 0, processed: 0, deferred: 0, duplicates: 0, malformed: 0, empty: 0 },
  error: {
    code: "email_column_ambiguous",
    detail:
      'Several columns may be the one of the contacts\' addresses. "Home Email" (column 1) has 290 addresses in the first rows, ' +
      '290 of them different; "Work Email" (column 2) has 281 addresses in the first rows, 279 of them different. Columns count ' +
      "from 0. Say which one by email_column.",
    candidates: [
      { index: 1, name: "Home Email", addresses: 290, distinct: 290 },
      { index: 2, name: "Work Email", addresses: 281, distinct: 279 },
    ],
  },
  metadata: {},
};
