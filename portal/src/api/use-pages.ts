import { useInfiniteQuery } from "@tanstack/react-query";

/** A page of a list, as the API has it. */
export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** The query of the first page, and of those behind it. */
export const pageQuery = (cursor: string | null) => (cursor === null ? {} : { cursor });

/**
 * A list in pages: the rows read so far, and a function that reads the next page.
 * @param key cache key of the list, to forget it after a change
 * @param options `staleTime`: how long the rows are shown without being read again, in milliseconds
 */
export function usePages<T>(
  key: readonly string[],
  readPage: (cursor: string | null) => Promise<Page<T>>,
  options: { staleTime?: number } = {},
) {
  const pages = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => readPage(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    ...options,
  });
  return { ...pages, rows: pages.data?.pages.flatMap(({ data }) => data) ?? [] };
}
