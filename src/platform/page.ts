import { AppError } from "./errors.ts";

/** One page of a list, as every list endpoint answers. */
export interface Page<T> {
  data: T[];
  /** Cursor of the next page; null at the end. */
  next_cursor: string | null;
}

/** Query of a list endpoint. */
export interface PageRequest {
  /** Rows of the page, 1 to 100. */
  limit: number;
  /** Sort key of the last row of the page before; null for the first page. */
  after: string | null;
}

const CURSOR_CHARS = 600;

/** The sort key in a cursor. @throws AppError `validation_failed` for a cursor that we did not issue */
export function readCursor(cursor: string): string {
  const key = cursor.length <= CURSOR_CHARS ? Buffer.from(cursor, "base64url").toString("utf8") : "";
  if (key !== "" && writeCursor(key) === cursor && !key.includes("\0")) return key;
  throw new AppError("validation_failed", "cursor (query) is not one that a list gave.", {
    errors: [{ path: "cursor", message: "is not one that a list gave" }],
  });
}

function writeCursor(key: string): string {
  return Buffer.from(key).toString("base64url");
}

/**
 * The page of rows that were read with a limit of one more than asked, in their order.
 * @param keyOf the sort key of a row, unique in the list
 */
export function pageOf<R, T>(
  rows: readonly R[],
  ask: PageRequest,
  keyOf: (row: R) => string,
  render: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, ask.limit);
  const last = shown.at(-1);
  const more = rows.length > ask.limit && last !== undefined;
  return { data: shown.map(render), next_cursor: more ? writeCursor(keyOf(last)) : null };
}
