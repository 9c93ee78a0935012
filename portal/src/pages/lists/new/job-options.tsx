import { counted, grouped } from "../../../words/numbers.ts";
import type { Preview } from "./use-preview.ts";

export interface JobOptions {
  split_cells: boolean;
  evidence: boolean;
  escape_formulas: boolean;
}

export const NO_OPTIONS: JobOptions = { split_cells: false, evidence: false, escape_formulas: false };

const TITLES: readonly { name: keyof JobOptions; title: string }[] = [
  { name: "split_cells", title: "Cells may hold several addresses: verify each" },
  { name: "evidence", title: "Add the evidence to the results: the server, its reply and the rule" },
  { name: "escape_formulas", title: "For a spreadsheet: cells that begin like a formula become plain text" },
];

/** Notice that rows of the preview have several addresses, and how they are treated. */
function Several({ sample: { rows, several }, isSplit }: { sample: Preview["sample"]; isSplit: boolean }) {
  if (several.rows === 0) return null;
  return (
    <p className="notice" role="status">
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

/** Options of a job beyond reading the file. */
export function JobOptionsForm({ options, onChange, sample }: Props) {
  return (
    <div className="stack">
      <Several sample={sample} isSplit={options.split_cells} />
      {TITLES.map(({ name, title }) => (
        <label key={name} className="check">
          <input
            type="checkbox"
            checked={options[name]}
            onChange={({ target }) => onChange({ ...options, [name]: target.checked })}
          />
          {title}
        </label>
      ))}
    </div>
  );
}
