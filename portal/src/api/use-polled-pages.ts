import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type Page, usePages } from "./use-pages.ts";

const FIRST_MS = 1_000;
const LAST_MS = 15_000;
/** The interval, as a share of the time since which nothing was done. */
const SHARE = 0.25;

/** A first page that was read later than the rows, and those behind it. Ids fall from row to row. */
function withNewest<T extends { id: string }>(rows: readonly T[], newest: Page<T>): T[] {
  const last = newest.data.at(-1);
  if (last === undefined || newest.next_cursor === null) return newest.data;
  return [...newest.data, ...rows.filter(({ id }) => id < last.id)];
}

interface Polling<T> {
  /** Whether these rows may change soon: then the first page is read again, at growing intervals. */
  isMoving(rows: readonly T[]): boolean;
  /** When something was done last that may change the list, in milliseconds of the browser's clock. */
  actedMs?: number;
}

/** A list that comes in pages, newest first, and whose newest rows change by themselves. As `usePages`. */
export function usePolledPages<T extends { id: string }>(
  key: readonly string[],
  readPage: (cursor: string | null) => Promise<Page<T>>,
  { isMoving, actedMs = 0 }: Polling<T>,
) {
  const pages = usePages(key, readPage);
  const [openedMs] = useState(() => Date.now());
  const later = ({ data, dataUpdatedAt }: { data: Page<T> | undefined; dataUpdatedAt: number }) =>
    data !== undefined && dataUpdatedAt > pages.dataUpdatedAt ? data : null;
  const rowsWith = (newest: Page<T> | null) =>
    newest === null ? pages.rows : withNewest(pages.rows, newest);
  const newestQuery = useQuery({
    queryKey: [...key, "newest"],
    queryFn: () => readPage(null),
    enabled: ({ state }) => !pages.isPending && isMoving(rowsWith(later(state))),
    refetchInterval: () =>
      Math.min(LAST_MS, Math.max(FIRST_MS, SHARE * (Date.now() - Math.max(openedMs, actedMs)))),
    staleTime: 0,
  });
  const newest = later(newestQuery);
  const rows = rowsWith(newest);
  // More is new than a page holds: rows in between are missing.
  const hasGap =
    newest !== null && pages.rows.length > 0 && rows.length === newest.data.length + pages.rows.length;
  const { refetch } = pages;
  useEffect(() => {
    if (hasGap) void refetch();
  }, [hasGap, refetch]);
  return { ...pages, rows };
}
