import type { ReactNode } from "react";
import type { usePages } from "../api/use-pages.ts";
import { Button } from "./button.tsx";
import { Loading } from "./loading.tsx";
import { Failure } from "./notice.tsx";
import { TableScroll } from "./table-scroll.tsx";

/** `hidden`: only for those who hear the table, since the column speaks for itself; `number`: at the right, as its numbers. */
type Column = string | { hidden: string } | { number: string };

interface Props<T> {
  label: string;
  pages: ReturnType<typeof usePages<T>>;
  /** Titles of the columns. */
  columns: readonly Column[];
  row(of: T): ReactNode;
  /** What stands there instead of a table without rows. */
  empty: ReactNode;
  /** On the button that reads on. */
  more?: string;
}

const titleOf = (column: Column): string =>
  typeof column === "string" ? column : "hidden" in column ? column.hidden : column.number;

function Title({ of: column }: { of: Column }) {
  const title = titleOf(column);
  if (typeof column === "string") return <th scope="col">{title}</th>;
  if ("number" in column)
    return (
      <th scope="col" className="number">
        {title}
      </th>
    );
  return (
    <th scope="col">
      <span className="visually-hidden">{title}</span>
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
              {columns.map((column) => (
                <Title key={titleOf(column)} of={column} />
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
