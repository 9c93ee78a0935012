import { ForeignText } from "../../components/foreign-text.tsx";
import { Table } from "../../components/tables/table.tsx";

const SHOWN = 200;

/** Pasted lines that were not taken, and why. */
export function RefusedLines({ lines }: { lines: readonly { domain: string; why: string }[] }) {
  if (lines.length === 0) return null;
  return (
    <>
      <Table label="Not taken" columns={["Not taken", "Why"]}>
        {lines.slice(0, SHOWN).map(({ domain, why }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same may have been pasted twice, and lines only come behind.
          <tr key={index}>
            <th scope="row" className="entry">
              <ForeignText>{domain}</ForeignText>
            </th>
            <td>{why}</td>
          </tr>
        ))}
      </Table>
      {lines.length > SHOWN && <p className="muted">And {lines.length - SHOWN} more.</p>}
    </>
  );
}
