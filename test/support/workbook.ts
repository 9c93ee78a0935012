import { type ZipPart, zipOf } from "./zip.ts";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

export const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

export interface SheetOf {
  name: string;
  /** The XML within `sheetData`; or rows of texts, which become shared strings. */
  rows: string | readonly (readonly string[])[];
  state?: "visible" | "hidden" | "veryHidden";
}

export interface WorkbookOf {
  sheets: readonly SheetOf[];
  /** The XML of shared strings, `<si>…</si>` each; texts of rows follow them. */
  strings?: readonly string[];
  /** The XML within `styleSheet`. */
  styles?: string;
  is1904?: boolean;
  /** Replaces parts of the same name, or adds to them. */
  parts?: readonly ZipPart[];
}

/** Name of a column, from 0. */
export function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter;
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

function relationships(entries: readonly (readonly [id: string, type: string, target: string])[]): string {
  const all = entries.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`,
  );
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join("")}</Relationships>`;
}

/** Parts of a workbook as Excel names them. */
export function workbookParts({
  sheets,
  strings = [],
  styles,
  is1904 = false,
  parts = [],
}: WorkbookOf): ZipPart[] {
  const shared = [...strings];
  const dataOf = (rows: SheetOf["rows"]) => {
    if (typeof rows === "string") return rows;
    const cell = (text: string, row: number, column: number) =>
      `<c r="${columnName(column)}${row + 1}" t="s"><v>${shared.push(`<si><t>${escapeXml(text)}</t></si>`) - 1}</v></c>`;
    return rows
      .map((cells, row) => `<row r="${row + 1}">${cells.map((text, i) => cell(text, row, i)).join("")}</row>`)
      .join("");
  };
  const worksheets = sheets.map(({ rows }, i) => ({
    name: `xl/worksheets/sheet${i + 1}.xml`,
    content: `${XML}<worksheet xmlns="${MAIN}"><sheetData>${dataOf(rows)}</sheetData></worksheet>`,
  }));
  const tabs = sheets.map(
    ({ name, state = "visible" }, i) =>
      `<sheet name="${escapeXml(name)}" sheetId="${i + 7}" state="${state}" r:id="rId${i + 1}"/>`,
  );
  const related = [
    ...sheets.map((_, i) => [`rId${i + 1}`, "worksheet", `worksheets/sheet${i + 1}.xml`] as const),
    ["rS", "sharedStrings", "sharedStrings.xml"] as const,
    ...(styles === undefined ? [] : [["rT", "styles", "/xl/styles.xml"] as const]),
  ];
  const made: ZipPart[] = [
    { name: "[Content_Types].xml", content: `${XML}<Types xmlns="${PACKAGE}/content-types"/>` },
    { name: "_rels/.rels", content: relationships([["rId1", "officeDocument", "xl/workbook.xml"]]) },
    {
      name: "xl/workbook.xml",
      content:
        `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr${is1904 ? ' date1904="1"' : ""}/>` +
        `<sheets>${tabs.join("")}</sheets></workbook>`,
    },
    { name: "xl/_rels/workbook.xml.rels", content: relationships(related) },
    ...worksheets,
    { name: "xl/sharedStrings.xml", content: `${XML}<sst xmlns="${MAIN}">${shared.join("")}</sst>` },
    ...(styles === undefined
      ? []
      : [{ name: "xl/styles.xml", content: `${XML}<styleSheet xmlns="${MAIN}">${styles}</styleSheet>` }]),
  ];
  const replaced = new Set(parts.map(({ name }) => name));
  return [...made.filter(({ name }) => !replaced.has(name)), ...parts];
}

/** A workbook, for tests. */
export function workbookOf(workbook: WorkbookOf): Buffer {
  return zipOf(workbookParts(workbook));
}
