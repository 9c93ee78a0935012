import type { ReactNode } from "react";
import { TableScroll } from "./table-scroll.tsx";

/** `hidden`: for screen readers alone, since the column speaks for itself; `number`: at the right, as its numbers. */
export type Column = string | { hidden: string } | { number: string };

const titleOf = (column: Column): string =>
  typeof column === "string" ? column : "hidden" in column ? column.hidden : column.number;

function Title({ of: column }: { of: Column }) {
  const title = titleOf(column);
  const isPlain = typeof column === "string";
  return (
    <th scope="col" className={!isPlain && "number" in column ? "number" : undefined}>
      {!isPlain && "hidden" in column ? <span className="visually-hidden">{title}</span> : title}
    </th>
  );
}

interface Props {
  label: string;
  /** Titles of the columns. */
  columns: readonly Column[];
  /** The rows. */
  children: ReactNode;
}

/** A table that scrolls within itself where it is wider than the page. */
export function Table({ label, columns, children }: Props) {
  return (
    <TableScroll label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <Title key={titleOf(column)} of={column} />
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </TableScroll>
  );
}
