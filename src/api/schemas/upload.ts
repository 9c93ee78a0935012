import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { countField, instantField, named, textField } from "./fields.ts";
import {
  CandidateSchema,
  SourceColumnsSchema,
  SourceWarningSchema,
  sourceColumnsExample,
} from "./source-columns.ts";

const { filenameChars, singleBytes, leastPartBytes, parts, previewRows, previewCellChars } = LIMITS.uploads;
const GIB = 1_073_741_824;
const MIB = 1_048_576;

/** The name of a file is only shown. It is never part of a path or a key. */
export const FilenameSchema = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(filenameChars, `must be at most ${filenameChars} characters`),
  v.regex(/^[^\p{Cc}\p{Cs}/\\]*$/u, "must not hold control characters or slashes"),
  v.description("For people: it names the file, nothing else."),
);

const creation = v.strictObject({
  filename: FilenameSchema,
  bytes: v.optional(
    v.pipe(
      v.number(),
      v.integer("must be a whole number"),
      v.minValue(0, "must be at least 0"),
      v.maxValue(Number.MAX_SAFE_INTEGER, "is too large"),
      v.description(
        `The file's size: then a body of another one is refused. Needed with \`part_bytes\`, and above ${singleBytes / GIB} GiB, where every file goes in parts.`,
      ),
    ),
  ),
  part_bytes: v.optional(
    v.pipe(
      v.number(),
      v.integer("must be a whole number"),
      v.minValue(leastPartBytes, `must be at least ${leastPartBytes}`),
      v.maxValue(singleBytes, `must be at most ${singleBytes}`),
      v.description(
        `The file goes in parts of this size, however small it is, from ${leastPartBytes / MIB} MiB to ${singleBytes / GIB} GiB. ` +
          `A size that would give more than ${parts} parts is raised to whole MiB.`,
      ),
    ),
  ),
});

export const CreateUploadSchema = v.pipe(
  creation,
  v.forward(
    v.check<v.InferOutput<typeof creation>, string>(
      ({ bytes = 0, part_bytes }) => part_bytes === undefined || bytes > 0,
      "needs bytes, at least 1",
    ),
    ["part_bytes"],
  ),
);

/** GET, DELETE and POST are about an upload that is there, PUT about a file that comes: one path, one parameter. */
export const UploadParamsSchema = v.strictObject({
  upload: textField("The upload's id."),
});
export const FileParamsSchema = v.strictObject({
  upload: v.pipe(FilenameSchema, v.description("Not an id here: the name of the file, percent-encoded.")),
});

const uploadEntries = {
  id: v.string(),
  livemode: v.pipe(
    v.boolean(),
    v.description("False: made by a test key. A test key sees no others: to it they are not found."),
  ),
  filename: textField("What the file is called."),
  status: v.pipe(
    v.picklist(["open", "stored"]),
    v.description("`open`: its bytes have not come, as far as is known."),
  ),
  bytes: v.pipe(
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))),
    v.description("As announced, then as stored; null: not known yet."),
  ),
  created_at: instantField("When it was made."),
  expires_at: v.nullable(
    instantField("Until then the bytes of an open upload are taken; null once they have come."),
  ),
  kept_until: instantField("It is removed soon after, unless a job has yet to read it."),
  jobs: countField(
    `Jobs that were made of it and have not been removed; ${LIMITS.uploads.jobsShown}: that many or more.`,
  ),
};
export const UploadSchema = named("Upload", v.object(uploadEntries));

const partEntries = {
  part_number: v.pipe(v.number(), v.integer(), v.minValue(1), v.description("From 1.")),
  first_byte: v.pipe(v.number(), v.integer(), v.minValue(0), v.description("From 0.")),
  bytes: v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Exactly so many.")),
};

export const OpenPartsSchema = named(
  "UploadParts",
  v.object({
    data: v.pipe(
      v.array(
        v.object({
          ...partEntries,
          sent: v.pipe(v.boolean(), v.description("Object storage has it, in its size.")),
          url: v.nullable(
            textField("Where its bytes go, by `PUT` and without a credential; null of a sent one."),
          ),
        }),
      ),
      v.description("All parts of the file, in order."),
    ),
    expires_at: instantField("Until then the URLs are valid, and as long the upload is open."),
  }),
);

export const openPartsExample: v.InferOutput<typeof OpenPartsSchema> = {
  data: [
    { part_number: 1, first_byte: 0, bytes: 8_388_608, sent: true, url: null },
    {
      part_number: 2,
      first_byte: 8_388_608,
      bytes: 1_000_000,
      sent: false,
      url: "https://s3.example.com/rcpt/teams/team_01h455vb4pex5vsknk084sn02p/uploads/upl_01h455vb4pex5vsknk084sn02q?partNumber=2&uploadId=…&X-Amz-Signature=…",
    },
  ],
  expires_at: "2026-01-01T13:20:00.000Z",
};

export const CreatedUploadSchema = named(
  "CreatedUpload",
  v.object({
    ...uploadEntries,
    method: v.pipe(v.literal("PUT"), v.description("How the bytes are to be sent.")),
    url: v.optional(
      textField("Where to: object storage itself. It needs no credential. Not of a file in parts."),
    ),
    headers: v.optional(
      v.pipe(
        v.record(v.string(), v.string()),
        v.description("Header fields that have to come with the bytes."),
      ),
    ),
    parts: v.optional(
      v.pipe(
        v.array(
          v.object({
            ...partEntries,
            url: textField("Where its bytes go."),
          }),
        ),
        v.description(
          "Instead of `url`, of a file in parts: each is sent by itself, in any order; `complete` ends it.",
        ),
      ),
    ),
  }),
);

const points = (description: string) => v.pipe(v.number(), v.description(description));

export const UploadPreviewSchema = named(
  "UploadPreview",
  v.object({
    layout: v.pipe(
      SourceColumnsSchema,
      v.description("How a job with the same options would read the upload."),
    ),
    header: v.pipe(
      v.nullable(v.array(v.string())),
      v.description("The names of the columns; null: there is no header."),
    ),
    candidates: v.pipe(
      v.array(
        v.object({
          ...CandidateSchema.entries,
          score: points("The sum of the parts."),
          parts: v.pipe(
            v.object({
              header: points("What its name says: -40 (an owner's) to 55 (the primary address)."),
              addresses: points("0 to 40: the share of its filled cells that are addresses."),
              distinct: points("-30 to 0: how much its addresses repeat."),
              filled: points("0 to 6: the share of the rows that have one."),
              position: points("0 to 1: from the right to the left."),
            }),
            v.description("The evidence, in points."),
          ),
        }),
      ),
      v.description("Columns that may be the one of the addresses, the likeliest first, 20 at most."),
    ),
    rows: v.pipe(
      v.array(
        v.object({
          row: v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Its number, from 1.")),
          input: textField("Its cell in the column of addresses."),
          columns: v.pipe(v.array(v.string()), v.description("All of its cells.")),
        }),
      ),
      v.description(
        `The first ${previewRows} rows at most; cells are cut to ${previewCellChars} characters.`,
      ),
    ),
    warnings: v.pipe(v.array(SourceWarningSchema), v.description("As of a job's `source`.")),
    sample: v.pipe(
      v.object({
        rows: countField("Rows of the list."),
        bytes: countField(
          "Bytes of the file from its beginning to the end of these rows; of a compressed file, a workbook or a list that is no " +
            "table the bytes of the text that was read from it, unless it was read whole.",
        ),
        whole: v.pipe(v.boolean(), v.description("The file has no more.")),
        repeats: countField("Rows whose address repeats an earlier one's: they cost nothing."),
        several: v.pipe(
          v.object({ rows: countField("Rows."), addresses: countField("Their addresses.") }),
          v.description(
            "Rows with several addresses in their cell: a job with `split_cells` verifies each, without it they are malformed and " +
              "cost nothing.",
          ),
        ),
      }),
      v.description(
        "What was read for this: the beginning of the file, its rows counted as a job counts them.",
      ),
    ),
    estimated_rows: v.nullable(
      countField(
        "Rows of the whole file, each row counted once: exact where the sample is `whole`, otherwise by the size of the file and of " +
          "the rows in the sample. null where that does not tell: a larger file that is compressed, a workbook or no table, or " +
          "one that would fail a job behind its first rows.",
      ),
    ),
  }),
);

export const previewExample = {
  layout: sourceColumnsExample,
  header: ["Name", "Business Email", "Owner"],
  candidates: [
    {
      index: 1,
      name: "Business Email",
      addresses: 280,
      distinct: 280,
      score: 74.1,
      parts: { header: 28, addresses: 40, distinct: 0, filled: 5.6, position: 0.5 },
    },
    {
      index: 2,
      name: "Owner",
      addresses: 300,
      distinct: 3,
      score: -23.2,
      parts: { header: -40, addresses: 40, distinct: -29.7, filled: 6, position: 0.5 },
    },
  ],
  rows: [
    { row: 1, input: "someone@example.com", columns: ["Someone", "someone@example.com", "sam@corp.example"] },
  ],
  warnings: [],
  sample: { rows: 300, bytes: 15_830, whole: false, repeats: 12, several: { rows: 2, addresses: 5 } },
  estimated_rows: 19_861,
};

export const uploadExample = {
  id: "upl_01h455vb4pex5vsknk084sn02q",
  livemode: true,
  filename: "list.csv",
  status: "stored" as const,
  bytes: 1_048_576,
  created_at: "2026-01-01T12:00:00.000Z",
  expires_at: null,
  kept_until: "2026-01-31T12:00:00.000Z",
  jobs: 0,
};
export const createdUploadExample = {
  ...uploadExample,
  status: "open" as const,
  expires_at: "2026-01-01T13:00:00.000Z",
  kept_until: "2026-01-02T13:00:00.000Z",
  method: "PUT" as const,
  url: "https://s3.example.com/rcpt/teams/team_01h455vb4pex5vsknk084sn02p/uploads/upl_01h455vb4pex5vsknk084sn02q?X-Amz-Signature=…",
  headers: { "Content-Length": "1048576" },
};
