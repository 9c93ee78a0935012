import { type ReactNode, useId } from "react";
import { columnTitle, DELIMITERS } from "../layout-words.ts";
import { columnCount, type FileOptions, type Preview } from "./use-preview.ts";

/** The commonest of those that the API reads. */
const ENCODINGS = [
  "utf-8",
  "windows-1252",
  "windows-1250",
  "windows-1251",
  "windows-1253",
  "windows-1254",
  "windows-1255",
  "windows-1256",
  "windows-1257",
  "iso-8859-1",
  "iso-8859-2",
  "iso-8859-15",
  "koi8-r",
  "macintosh",
  "shift_jis",
  "euc-jp",
  "euc-kr",
  "gb18030",
  "big5",
];

interface ChoiceProps {
  label: string;
  value: string;
  onChange(value: string): void;
  children: ReactNode;
}

function Choice({ label, value, onChange, children }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {children}
      </select>
    </div>
  );
}

interface Props {
  options: FileOptions;
  onChange(options: FileOptions): void;
  /** The last way that the file could be read; null: none yet. */
  known: Preview | null;
}

/** Which column is verified. */
export function ColumnChoice({ options, onChange, known }: Props & { known: Preview }) {
  const { header, candidates } = known;
  const addresses = new Map(candidates.map((candidate) => [candidate.index, candidate.addresses]));
  return (
    <Choice
      label="Column of the addresses"
      value={String(options.email_column ?? "")}
      onChange={(value) => {
        const { email_column: _, ...others } = options;
        onChange(value === "" ? others : { ...others, email_column: Number(value) });
      }}
    >
      <option value="">automatic</option>
      {Array.from({ length: columnCount(known) }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a column is its index.
        <option key={index} value={index}>
          {columnTitle({ index, name: header?.[index] ?? null })}
          {addresses.has(index) && ` (${addresses.get(index)} addresses in the first rows)`}
        </option>
      ))}
    </Choice>
  );
}

function SheetChoice({ options, onChange, known }: Props & { known: Preview }) {
  const { sheet } = known.layout;
  if (sheet === null || sheet.others.length === 0) return null;
  return (
    <Choice
      label="Sheet"
      value={String(options.sheet ?? sheet.name)}
      onChange={(name) => onChange({ sheet: name })}
    >
      {[sheet.name, ...sheet.others].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Choice>
  );
}

type TextOption = "delimiter" | "encoding" | "escape";

/** What is found out where nothing is said, with what was. */
function Automatic({ found }: { found: string | null }) {
  return <option value="">automatic{found !== null && ` (${found})`}</option>;
}

function HeaderChoice({ options, onChange, known }: Props) {
  const { has_header: isSaid, ...others } = options;
  const found = known === null || isSaid !== undefined ? null : known.layout.has_header;
  return (
    <Choice
      label="First row"
      value={isSaid === undefined ? "" : String(isSaid)}
      onChange={(value) => onChange(value === "" ? others : { ...others, has_header: value === "true" })}
    >
      <Automatic found={found === null ? null : found ? "a header" : "an address"} />
      <option value="true">a header</option>
      <option value="false">an address</option>
    </Choice>
  );
}

/** What may be said of a file, each found out while nothing is said. What changes the columns forgets the one chosen. */
export function ReadingOptions({ options, onChange, known }: Props) {
  const isWorkbook = known !== null && known.layout.sheet !== null;
  const set = (name: TextOption) => (value: string) => {
    const { [name]: _, email_column: _column, ...others } = options;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  const found = (name: TextOption) =>
    known === null || options[name] !== undefined ? null : known.layout[name];
  const delimiter = found("delimiter");
  return (
    <div className="options">
      {known !== null && <SheetChoice options={options} onChange={onChange} known={known} />}
      <HeaderChoice options={options} onChange={onChange} known={known} />
      {!isWorkbook && (
        <>
          <Choice label="Between columns" value={options.delimiter ?? ""} onChange={set("delimiter")}>
            <Automatic found={delimiter === null ? null : (DELIMITERS[delimiter] ?? delimiter)} />
            {Object.entries(DELIMITERS).map(([character, name]) => (
              <option key={name} value={character}>
                {name}
              </option>
            ))}
          </Choice>
          <Choice label="Encoding" value={options.encoding ?? ""} onChange={set("encoding")}>
            <Automatic found={found("encoding")} />
            {ENCODINGS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Choice>
          <Choice label="Quotes within quotes" value={options.escape ?? ""} onChange={set("escape")}>
            <Automatic found={null} />
            <option value={'"'}>doubled: ""</option>
            <option value="\">behind a backslash: \"</option>
          </Choice>
        </>
      )}
    </div>
  );
}
