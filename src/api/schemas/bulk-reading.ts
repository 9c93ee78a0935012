import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { WAIT_REASONS } from "../../features/bulk/jobs/deferred-groups.ts";
import { FORMATS } from "../../features/bulk/results/result-rows.ts";
import { reasonField, verdictField } from "./enums.ts";
import {
  countField,
  instantField,
  named,
  textField,
  verdictCountsField,
  wholeNumberParameter,
} from "./fields.ts";

const { limitRows } = LIMITS.results;
/** Longer than any name of one. */
const PROVIDER_CHARS = 100;

export const ResultsQuerySchema = v.strictObject({
  format: v.optional(
    v.pipe(v.picklist(FORMATS, `must be one of ${FORMATS.join(", ")}`), v.description("`csv` when absent.")),
    "csv",
  ),
  verdict: v.optional(verdictField("Only rows with this verdict.")),
  reason: v.optional(reasonField("Only rows with this reason.")),
  provider: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(PROVIDER_CHARS, `must be at most ${PROVIDER_CHARS} characters`),
      v.description(
        "Only rows with this operator of the mail exchangers, as in `rcpt_mx_provider`; empty: rows of no known one.",
      ),
    ),
  ),
  limit: v.optional(
    wholeNumberParameter(limitRows, `At most so many rows, 1 to ${limitRows}; all when absent.`),
  ),
});

export const DeferredRowsSchema = named(
  "DeferredRows",
  v.object({
    data: v.pipe(
      v.array(
        v.object({
          reason: v.pipe(
            v.picklist(WAIT_REASONS),
            v.description(
              "`busy`: the site allows no further connection now; others are reasons of verdicts, which the rows get when they are " +
                "not answered in time.",
            ),
          ),
          site: v.nullable(
            textField(
              "The group of mail servers that share a connection limit; null: several groups with few rows each, and of `busy` also those that are not known yet.",
            ),
          ),
          rows: countField("Rows that wait so."),
          next_attempt_at: instantField(
            "When the first of them are due; in the past: they are being asked, or wait for a free connection.",
          ),
        }),
      ),
      v.description(`Most rows first, ${LIMITS.bulk.deferredGroups} at most.`),
    ),
    rows: countField("All rows that wait, those of further groups included."),
  }),
);

export const JobProvidersSchema = named(
  "JobProviders",
  v.object({
    data: v.pipe(
      v.array(
        v.object({
          provider: v.nullable(
            textField(
              "The operator of the mail exchangers, as in `rcpt_mx_provider`; null: of no known one, or of rows without.",
            ),
          ),
          rows: countField("Answered rows."),
          verdicts: verdictCountsField("The same by verdict."),
        }),
      ),
      v.description("Most rows first."),
    ),
  }),
);

export const jobProvidersExample: v.InferOutput<typeof JobProvidersSchema> = {
  data: [
    { provider: "google", rows: 40, verdicts: { valid: 30, invalid: 8, risky: 0, unknown: 2 } },
    { provider: null, rows: 25, verdicts: { valid: 12, invalid: 9, risky: 4, unknown: 0 } },
  ],
};

export const deferredRowsExample: v.InferOutput<typeof DeferredRowsSchema> = {
  data: [
    { reason: "greylisted", site: "mx.example.com", rows: 12, next_attempt_at: "2026-01-01T00:05:00.000Z" },
    { reason: "busy", site: "google", rows: 3, next_attempt_at: "2026-01-01T00:00:10.000Z" },
  ],
  rows: 15,
};
