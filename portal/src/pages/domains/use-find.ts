import { useEffect, useState } from "react";
import type { usePages } from "../../api/use-pages.ts";
import { domainFinder } from "../../words/domains.ts";

/**
 * Finds among the rows of a list that comes in pages; while something is looked for, the list is read to its end.
 * @param pages of `usePages`
 */
export function useFind<T extends { domain: string }>(pages: ReturnType<typeof usePages<T>>) {
  const [text, setText] = useState("");
  const isFinding = text.trim() !== "";
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = pages;
  const readsOn = isFinding && hasNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (readsOn && !isFetchingNextPage) void fetchNextPage();
  }, [readsOn, isFetchingNextPage, fetchNextPage]);
  const matches = domainFinder(text);
  const found = isFinding ? pages.rows.filter(({ domain }) => matches(domain)) : pages.rows;
  return {
    text,
    setText,
    isFinding,
    /** True while not all rows have been searched. */
    isReading: readsOn,
    /** The found rows, or all. While searching, further pages load by themselves. */
    pages: { ...pages, rows: found, hasNextPage: hasNextPage && !isFinding },
  };
}
