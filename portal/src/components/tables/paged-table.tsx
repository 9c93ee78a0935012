import type { ComponentProps, ReactNode } from "react";
import { Paged } from "./paged.tsx";
import { Table } from "./table.tsx";

type Props<T> = Omit<ComponentProps<typeof Paged<T>>, "children"> &
  Omit<ComponentProps<typeof Table>, "children"> & { row(of: T): ReactNode };

/** A list that comes in pages, as a table. */
export function PagedTable<T>({ label, columns, row, ...paged }: Props<T>) {
  return (
    <Paged {...paged}>
      {(rows) => (
        <Table label={label} columns={columns}>
          {rows.map(row)}
        </Table>
      )}
    </Paged>
  );
}
