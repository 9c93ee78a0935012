import * as v from "valibot";
import type { SourceColumns } from "../../features/bulk/analysis/layout.ts";
import { countField, named, textField } from "./fields.ts";

const index = countField("Its index, from 0.");
const columnName = v.nullable(
  textField("Its name in the header, up to 200 characters; null: there is no header."),
);

export const CandidateSchema = named(
  "ColumnCandidate",
  v.object({
    index,
    name: columnName,
    addresses: countField("Cells of the first rows that hold an address."),
    distinct: countField("How many of these are different."),
  }),
);

/** The columns that a list was read with. */
export const SourceColumnsSchema = named(
  "SourceColumns",
  v.object({
    email: v.pipe(
      v.object({
        index,
        name: columnName,
        chosen_by: v.pipe(
          v.picklist(["option", "header", "content", "only"]),
          v.description(
            "`option`: `email_column`; `header`: its name says so; `content`: what its cells hold; `only`: no other column has " +
              "addresses.",
          ),
        ),
      }),
      v.description("The column that is verified."),
    ),
    others: v.pipe(
      v.array(CandidateSchema),
      v.description("Further columns that hold addresses, 20 at most."),
    ),
    delimiter: textField("What parts the columns."),
    has_header: v.pipe(
      v.boolean(),
      v.description("Whether the first record of the table names the columns."),
    ),
    encoding: textField("What the text is read as, e.g. `utf-8`, `utf-16le`, `windows-1252`."),
    escape: v.pipe(
      v.picklist(['"', "\\"]),
      v.description("What makes a quote part of a quoted value: another quote before it, or a backslash."),
    ),
    skipped_lines: v.pipe(
      v.array(
        v.object({
          line: v.pipe(
            v.number(),
            v.integer(),
            v.minValue(1),
            v.description("Its number in the file, from 1."),
          ),
          text: textField("Its beginning."),
          reason: v.pipe(
            v.picklist(["comment", "title", "rule", "footer"]),
            v.description(
              "`comment` and `title` stand above the table, `footer` below it; `rule` is a line of dashes, as under a header.",
            ),
          ),
        }),
      ),
      v.description("Lines that are no rows of the table: they are neither verified nor in the results."),
    ),
    sheet: v.pipe(
      v.nullable(
        v.object({
          index,
          name: textField("Its name."),
          others: v.pipe(v.array(v.string()), v.description("Names of the other sheets, 20 at most.")),
        }),
      ),
      v.description("Of a workbook: the sheet that was read; null of any other list."),
    ),
  }),
);

export const SourceWarningSchema = named(
  "SourceWarning",
  v.object({
    code: textField("Stable."),
    detail: textField("In words."),
  }),
);

/** Common fields of all sources. */
const findings = {
  columns: v.pipe(
    v.nullable(SourceColumnsSchema),
    v.description("How the list was read; null until it has been, and where it could not be."),
  ),
  warnings: v.pipe(
    v.array(SourceWarningSchema),
    v.description("What was tolerated in the list, or should be looked at."),
  ),
};

export const JobSourceSchema = named(
  "JobSource",
  v.pipe(
    v.variant("type", [
      named(
        "InlineSource",
        v.object({
          type: v.pipe(v.literal("inline"), v.description("The list was in the request.")),
          ...findings,
        }),
      ),
      named(
        "UploadSource",
        v.object({
          type: v.pipe(v.literal("upload"), v.description("The list was uploaded.")),
          upload_id: textField("The upload's id."),
          filename: textField("Its name."),
          ...findings,
        }),
      ),
      named(
        "S3Source",
        v.object({
          type: v.pipe(v.literal("s3"), v.description("The list is in a bucket of yours.")),
          bucket: textField("The bucket."),
          key: textField("The object's key."),
          ...findings,
        }),
      ),
    ]),
    v.description("Where the list came from, and how it was read."),
  ),
);

export const sourceColumnsExample: SourceColumns = {
  email: { index: 1, name: "Business Email", chosen_by: "header" },
  others: [{ index: 2, name: "Owner", addresses: 300, distinct: 3 }],
  delimiter: ",",
  has_header: true,
  encoding: "utf-8",
  escape: '"',
  skipped_lines: [],
  sheet: null,
};

/** Example for a list in a request. */
export const inlineSourceColumnsExample: SourceColumns = {
  ...sourceColumnsExample,
  email: { index: 0, name: "email", chosen_by: "only" },
  others: [],
  has_header: false,
};
