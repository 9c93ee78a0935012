import type { ComponentProps, ReactNode } from "react";
import { Paged } from "./paged.tsx";
import { TableScroll } from "./table-scroll.tsx";

/** `hidden`: for screen readers alone, since the column speaks for itself; `number`: at the right, as its numbers. */
type Column = string | { hidden: string } | { number: string };

interface Props<T> extends Omit<ComponentProps<typeof Paged<T>>, "children"> {
  label: string;
  /** Titles of the columns. */
  columns: readonly Column[];
  row(of: T): ReactNode;
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

/** A list that comes in pages, as a table. */
export function PagedTable<T>({ label, columns, row, ...paged }: Props<T>) {
  return (
    <Paged {...paged}>
      {(rows) => (
        <TableScroll label={label}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Title key={titleOf(column)} of={column} />
              ))}
            </tr>
          </thead>
          <tbody>{rows.map(row)}</tbody>
        </TableScroll>
      )}
    </Paged>
  );
}
