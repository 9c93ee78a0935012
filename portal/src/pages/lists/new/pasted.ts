/** Separators between the columns of a table, and between several addresses on a line. */
const SEPARATOR = /[,;\t|]/;
/** The name of a column alone, such as "email" or "E-mail address". */
const COLUMN_NAME = /^"?\p{L}[\p{L} _-]*"?$/u;
/** An address behind a name: "Jane <jane@example.com>", also "Doe, Jane <jane@example.com>". */
const BEHIND_NAME = /<[^<>@]+@[^<>]+>/;

/** Addresses as a list of one column: names may hold commas and quotes. */
export const csvOf = (addresses: readonly string[]): string =>
  ["email", ...addresses.map((address) => `"${address.replaceAll('"', '""')}"`), ""].join("\n");

const hasOneAt = (text: string): boolean => text.indexOf("@") === text.lastIndexOf("@");

/** The addresses of a line; null: it has other cells too, as a row of a table has. */
function addressesOf(line: string): string[] | null {
  if (!SEPARATOR.test(line)) return hasOneAt(line) ? [line] : partsOf(line);
  const texts = line.split(BEHIND_NAME);
  const cells = (texts.at(-1) ?? "").split(SEPARATOR).map((cell) => cell.trim());
  if (cells.some((cell) => cell !== "" && !cell.includes("@"))) return null;
  return texts.length > 1 && hasOneAt(line) ? [line] : partsOf(line);
}

/** What of a line holds an "@". */
const partsOf = (line: string): string[] => line.split(/[,;\t| ]+/).filter((part) => part.includes("@"));

export interface Pasted {
  /** Of a table: of the lines that hold nothing else. */
  addresses: string[];
  /** It has columns: the service has to find the addresses in it. */
  isTable: boolean;
  /** First line above addresses alone, such as "email": it is none of them. */
  header: string | null;
}

/** Reads a pasted text: an address on each line, several on a line with something between them, or a table. */
export function readPasted(text: string): Pasted {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const [first, second] = lines;
  const hasHeader = first !== undefined && second?.includes("@") === true && COLUMN_NAME.test(first);
  const read = (hasHeader ? lines.slice(1) : lines).map(addressesOf);
  const isTable = read.includes(null);
  return {
    addresses: read.flatMap((found) => found ?? []),
    isTable,
    header: hasHeader && !isTable ? first : null,
  };
}
