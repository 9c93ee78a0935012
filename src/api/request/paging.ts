import * as v from "valibot";
import { type PageRequest, readCursor } from "../../platform/page.ts";
import { named, wholeNumberParameter } from "../schemas/fields.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100;

/** The parameters of every list. Spread into the entries of a strict object where a list takes more. */
export const PageQueryEntries = {
  limit: v.optional(
    wholeNumberParameter(LIMIT_MAX, `Entries of a page, 1 to ${LIMIT_MAX}; ${LIMIT_DEFAULT} when absent.`),
    String(LIMIT_DEFAULT),
  ),
  cursor: v.optional(v.pipe(v.string(), v.description("`next_cursor` of the page before."))),
};

export const PageQuerySchema = v.strictObject(PageQueryEntries);

/** @throws AppError `validation_failed` for a cursor that no list gave */
export function readPageRequest(query: { limit: number; cursor?: string | undefined }): PageRequest {
  return { limit: query.limit, after: query.cursor === undefined ? null : readCursor(query.cursor) };
}

/** `{data: [...], next_cursor}` of an item. */
function pageSchema<S extends v.GenericSchema>(item: S) {
  return named(
    `${v.getTitle(item)}Page`,
    v.object({
      data: v.array(item),
      next_cursor: v.pipe(
        v.nullable(v.string()),
        v.description("Send it as `cursor` for what follows; null at the end."),
      ),
    }),
  );
}

/** The success of a list endpoint, as its route describes it. */
export function pageSuccess<S extends v.GenericSchema>(
  description: string,
  item: S,
  examples: readonly v.InferOutput<S>[],
) {
  return {
    status: 200,
    description,
    schema: pageSchema(item),
    example: { data: examples, next_cursor: null },
  };
}
