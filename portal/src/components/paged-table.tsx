import type { ReactNode } from "react";
import type { usePages } from "../api/use-pages.ts";
import { Button } from "./button.tsx";
import { Loading } from "./loading.tsx";
import { Failure } from "./notice.tsx";
import { TableScroll } from "./table-scroll.tsx";

interface Props<T> {
  label: string;
  pages: ReturnType<typeof usePages<T>>;
  /** Titles of the columns; `hidden`: only for those who hear the table, since the column speaks for itself. */
  columns: readonly (string | { hidden: string })[];
  row(of: T): ReactNode;
  /** What stands there instead of a table without rows. */
  empty: ReactNode;
  /** On the button that reads on. */
  more?: string;
}

function Title({ of: title }: { of: string | { hidden: string } }) {
  if (typeof title === "string") return <th scope="col">{title}</th>;
  return (
    <th scope="col">
      <span className="visually-hidden">{title.hidden}</span>
    </th>
  );
}

/** A list that comes in pages, as a table. What was read before stays when it cannot be read again. */
export function PagedTable<T>({ label, pages, columns, row, empty, more = "More" }: Props<T>) {
  if (pages.isPending) return <Loading />;
  return (
    <>
      <Failure error={pages.error} />
      {pages.rows.length === 0 && pages.error === null && empty}
      {pages.rows.length > 0 && (
        <TableScroll label={label}>
          <thead>
            <tr>
              {columns.map((title) => (
                <Title key={typeof title === "string" ? title : title.hidden} of={title} />
              ))}
            </tr>
          </thead>
          <tbody>{pages.rows.map(row)}</tbody>
        </TableScroll>
      )}
      {pages.hasNextPage && (
        <Button onClick={() => void pages.fetchNextPage()} busy={pages.isFetchingNextPage}>
          {more}
        </Button>
      )}
    </>
  );
}
