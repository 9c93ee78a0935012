import { ForeignText } from "../../../components/foreign-text.tsx";
import { TableScroll } from "../../../components/tables/table-scroll.tsx";
import { counted, grouped } from "../../../words/numbers.ts";
import { columnTitle } from "../layout-words.ts";
import { columnCount, type Preview } from "./use-preview.ts";

/** Maximum columns shown beside the address column. */
const SHOWN_COLUMNS = 30;

/** The columns that are shown: the first ones, and the one of the addresses. */
function shownColumns(preview: Preview): number[] {
  const first = Array.from({ length: Math.min(columnCount(preview), SHOWN_COLUMNS) }, (_, i) => i);
  const { index } = preview.layout.email;
  return first.includes(index) ? first : [...first, index];
}

/** The first rows as they would be read, with the addresses marked. */
export function PreviewTable({ preview }: { preview: Preview }) {
  const { header, rows, layout } = preview;
  const shown = shownColumns(preview);
  const hidden = columnCount(preview) - shown.length;
  const isEmail = (index: number) => index === layout.email.index;
  return (
    <div className="preview">
      <TableScroll label="Preview">
        <thead>
          <tr>
            <th scope="col" className="number">
              Row
            </th>
            {shown.map((index) => (
              <th scope="col" key={index} className={isEmail(index) ? "email-column" : ""}>
                <ForeignText>{columnTitle({ index, name: header?.[index] ?? null })}</ForeignText>
                {isEmail(index) && <span className="badge running">addresses</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, columns }) => (
            <tr key={row}>
              <td className="number">{grouped(row)}</td>
              {shown.map((index) => (
                <td key={index} className={isEmail(index) ? "email-column" : ""}>
                  <ForeignText>{columns[index] ?? ""}</ForeignText>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </TableScroll>
      {hidden > 0 && (
        <p className="muted">{counted(hidden, "more column is", "more columns are")} kept in the results.</p>
      )}
    </div>
  );
}
