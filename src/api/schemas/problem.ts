import * as v from "valibot";
import { ERRORS, type ErrorCode } from "../../platform/errors.ts";
import { named, textField } from "./fields.ts";
import { CandidateSchema } from "./source-columns.ts";

/** RFC 9457, with `code` and `request_id`. */
export const ProblemSchema = named(
  "Problem",
  v.object({
    type: textField("A URI reference per code."),
    title: textField("The same for every problem of this code."),
    status: v.pipe(
      v.number(),
      v.integer(),
      v.minValue(400),
      v.maxValue(599),
      v.description("The HTTP status."),
    ),
    detail: textField("What was wrong this time, in words."),
    code: v.pipe(
      v.picklist(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
      v.description("Stable: what a program switches on."),
    ),
    request_id: textField("Also in the header X-Request-Id; finds the request in our logs."),
    errors: v.optional(
      v.pipe(
        v.array(
          v.object({ path: textField("The field, dotted."), message: textField("What is wrong with it.") }),
        ),
        v.description("Of a failed validation: each field that is wrong."),
      ),
    ),
    candidates: v.optional(
      v.pipe(
        v.array(CandidateSchema),
        v.description("Of `email_column_ambiguous`: the columns to choose from, the likeliest first."),
      ),
    ),
  }),
);
