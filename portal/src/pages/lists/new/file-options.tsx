import { asOptions, Select } from "../../../components/forms/select.tsx";
import { counted } from "../../../words/numbers.ts";
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

interface Props {
  options: FileOptions;
  onChange(options: FileOptions): void;
  /** The last preview without an error; null: none yet. */
  known: Preview | null;
}

/** Text of the option "automatic", with the detected value; null: it is not shown. */
const automatic = (found: string | null) =>
  ["", found === null ? "automatic" : `automatic (${found})`] as const;

/** Which column is verified. */
export function ColumnChoice({ options, onChange, known }: Props & { known: Preview }) {
  const { header, candidates } = known;
  const addresses = new Map(candidates.map((candidate) => [candidate.index, candidate.addresses]));
  const titleOf = (index: number) =>
    columnTitle({ index, name: header?.[index] ?? null }) +
    (addresses.has(index)
      ? ` (${counted(addresses.get(index) ?? 0, "address", "addresses")} in the first rows)`
      : "");
  return (
    <Select
      label="Column of the addresses"
      value={String(options.email_column ?? "")}
      onChange={(value) => {
        const { email_column: _, ...others } = options;
        onChange(value === "" ? others : { ...others, email_column: Number(value) });
      }}
      options={[
        automatic(options.email_column === undefined ? columnTitle(known.layout.email) : null),
        ...Array.from({ length: columnCount(known) }, (_, index) => [`${index}`, titleOf(index)] as const),
      ]}
    />
  );
}

function SheetChoice({ options, onChange, known }: Props & { known: Preview }) {
  const { sheet } = known.layout;
  if (sheet === null || sheet.others.length === 0) return null;
  return (
    <Select
      label="Sheet"
      value={String(options.sheet ?? sheet.name)}
      onChange={(name) => onChange({ sheet: name })}
      options={asOptions([sheet.name, ...sheet.others])}
    />
  );
}

type TextOption = "delimiter" | "encoding" | "escape";

function HeaderChoice({ options, onChange, known }: Props) {
  const { has_header: isSaid, ...others } = options;
  const found = known === null || isSaid !== undefined ? null : known.layout.has_header;
  return (
    <Select
      label="First row"
      value={isSaid === undefined ? "" : String(isSaid)}
      onChange={(value) => onChange(value === "" ? others : { ...others, has_header: value === "true" })}
      options={[
        automatic(found === null ? null : found ? "a header" : "an address"),
        ["true", "a header"],
        ["false", "an address"],
      ]}
    />
  );
}

/**
 * Choice of the reading options, each detected automatically by default. A change that affects the columns clears the
 * chosen column.
 */
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
          <Select
            label="Delimiter"
            value={options.delimiter ?? ""}
            onChange={set("delimiter")}
            options={[
              automatic(delimiter === null ? null : (DELIMITERS[delimiter] ?? delimiter)),
              ...Object.entries(DELIMITERS),
            ]}
          />
          <Select
            label="Encoding"
            value={options.encoding ?? ""}
            onChange={set("encoding")}
            options={[automatic(found("encoding")), ...asOptions(ENCODINGS)]}
          />
          <Select
            label="Quotes in quoted fields"
            value={options.escape ?? ""}
            onChange={set("escape")}
            options={[automatic(null), ['"', 'doubled: ""'], ["\\", 'behind a backslash: \\"']]}
          />
        </>
      )}
    </div>
  );
}
