import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { SourceOptions } from "../../features/bulk/analysis/layout.ts";
import { ENCODINGS } from "../../features/bulk/csv/encoding/charset.ts";

const { columns } = LIMITS.bulk;

const described = (text: string) => v.description<string, string>(text);

/** Text that the database can store as JSON. */
export const storableText = v.regex<string, string>(
  /^[^\0\p{Cs}]*$/u,
  "must not hold NUL or half of a surrogate pair",
);

const emailColumn = v.union([
  v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(1_000),
    storableText,
    v.description("Its name in the header."),
  ),
  v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(columns - 1),
    v.description("Its index, from 0."),
  ),
]);

const sheet = v.union([
  v.pipe(v.string(), v.minLength(1), v.maxLength(255), storableText, v.description("Its name.")),
  v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(LIMITS.bulk.workbook.sheets - 1),
    v.description("Its index, from 0, hidden ones counted."),
  ),
]);

const isDelimiter = /^[\t !#-~]$/;

/** Reading options of a file, for jobs and previews. */
export const fileOptionEntries = {
  email_column: v.optional(
    v.pipe(emailColumn, v.description("The column of a file that has the addresses; found out when absent.")),
  ),
  has_header: v.optional(
    v.pipe(
      v.boolean(),
      v.description("Whether a file's first record names the columns; found out when absent."),
    ),
  ),
  delimiter: v.optional(
    v.pipe(
      v.string(),
      v.regex(isDelimiter, "must be one printable ASCII character or a tab, and no quote"),
      described("What parts the columns of a file; found out when absent."),
    ),
  ),
  sheet: v.optional(
    v.pipe(sheet, v.description("The sheet of a workbook; the first that is not hidden when absent.")),
  ),
  escape: v.optional(
    v.pipe(
      v.picklist(['"', "\\"], 'must be " or \\'),
      v.description(
        'How a quote stands within the quotes of a file: doubled (`"`), or behind a backslash (`\\`), which then also takes ' +
          "the meaning from a delimiter or line end; found out when absent.",
      ),
    ),
  ),
  encoding: v.optional(
    v.pipe(
      v.string(),
      v.check((name) => ENCODINGS.includes(name.toLowerCase()), `must be one of ${ENCODINGS.join(", ")}`),
      v.description("What a file's text is encoded in; found out when absent. UTF-16 is always found out."),
    ),
  ),
};

/** Converts the options to those of the services. */
export function readSourceOptions(body: v.InferOutput<typeof FileOptionsSchema>): SourceOptions {
  return {
    ...(body.email_column === undefined ? {} : { emailColumn: body.email_column }),
    ...(body.has_header === undefined ? {} : { hasHeader: body.has_header }),
    ...(body.delimiter === undefined ? {} : { delimiter: body.delimiter }),
    ...(body.sheet === undefined ? {} : { sheet: body.sheet }),
    ...(body.escape === undefined ? {} : { escape: body.escape }),
    ...(body.encoding === undefined ? {} : { charset: body.encoding.toLowerCase() }),
  };
}

export const FileOptionsSchema = v.strictObject(fileOptionEntries);
