import type { ReactNode } from "react";
import type { usePages } from "../../api/use-pages.ts";
import { Button } from "../button.tsx";
import { Loading } from "../loading.tsx";
import { FailureToRetry } from "../notice.tsx";

interface Props<T> {
  pages: ReturnType<typeof usePages<T>>;
  /** Shown instead of an empty list. */
  empty: ReactNode;
  /** On the button that reads on. */
  more?: string;
  children(rows: readonly T[]): ReactNode;
}

/** A list in pages. Rows that were read remain when reading again fails. */
export function Paged<T>({ pages, empty, more = "More", children }: Props<T>) {
  if (pages.isPending) return <Loading />;
  return (
    <>
      <FailureToRetry
        error={pages.error}
        again={pages.isFetchNextPageError ? pages.fetchNextPage : pages.refetch}
        busy={pages.isFetching}
      />
      {pages.rows.length === 0 && pages.error === null && empty}
      {pages.rows.length > 0 && children(pages.rows)}
      {pages.hasNextPage && (
        <Button onClick={() => void pages.fetchNextPage()} busy={pages.isFetchingNextPage}>
          {more}
        </Button>
      )}
    </>
  );
}
