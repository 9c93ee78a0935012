import { counted, grouped } from "../../../words/numbers.ts";
import type { Preview } from "./use-preview.ts";

export interface JobOptions {
  split_cells: boolean;
  evidence: boolean;
  escape_formulas: boolean;
}

export const NO_OPTIONS: JobOptions = { split_cells: false, evidence: false, escape_formulas: false };

const TITLES = [
  { name: "split_cells", title: "Cells may hold several addresses: verify each" },
  { name: "evidence", title: "Add the evidence to the results: the server, its reply and the rule" },
  { name: "escape_formulas", title: "For a spreadsheet: cells that begin like a formula become plain text" },
] as const satisfies readonly { name: keyof JobOptions; title: string }[];

/** Says that rows of the preview have several addresses, and how they are treated. */
function Several({ sample: { rows, several }, isSplit }: { sample: Preview["sample"]; isSplit: boolean }) {
  return (
    <p role="status">
      {grouped(several.rows)} of the first {counted(rows, "row")} {several.rows === 1 ? "has" : "have"}{" "}
      several addresses in the cell, {grouped(several.addresses)} in all:{" "}
      {isSplit ? "each is verified." : "they are answered malformed, for nothing, unless each is verified."}
    </p>
  );
}

interface Props {
  options: JobOptions;
  onChange(options: JobOptions): void;
  sample: Preview["sample"];
}

/** Options of a job beyond reading the file. The one that the preview calls for stands in its notice. */
export function JobOptionsForm({ options, onChange, sample }: Props) {
  const check = ({ name, title }: (typeof TITLES)[number]) => (
    <label key={name} className="check">
      <input
        type="checkbox"
        checked={options[name]}
        onChange={({ target }) => onChange({ ...options, [name]: target.checked })}
      />
      {title}
    </label>
  );
  const [splitting, ...others] = TITLES;
  return (
    <div className="stack">
      {sample.several.rows > 0 ? (
        <div className="notice stack">
          <Several sample={sample} isSplit={options.split_cells} />
          {check(splitting)}
        </div>
      ) : (
        check(splitting)
      )}
      {others.map(check)}
    </div>
  );
}
