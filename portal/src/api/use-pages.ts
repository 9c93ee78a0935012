import { useInfiniteQuery } from "@tanstack/react-query";

/** A page of a list, as the API has it. */
export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** The query of the first page, and of those behind it. */
export const pageQuery = (cursor: string | null) => (cursor === null ? {} : { cursor });

/**
 * A list that comes in pages: the rows of those read so far, and how to read the next.
 * @param key what the list is kept under, and forgotten by when it has changed
 */
export function usePages<T>(key: readonly string[], readPage: (cursor: string | null) => Promise<Page<T>>) {
  const pages = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => readPage(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  return { ...pages, rows: pages.data?.pages.flatMap(({ data }) => data) ?? [] };
}
