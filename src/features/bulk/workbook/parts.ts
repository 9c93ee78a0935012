import { setImmediate as turn } from "node:timers/promises";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Archive } from "./archive.ts";
import { isBuiltInDate, isDateFormat } from "./cell-text.ts";
import { notAWorkbook, workbookTooLarge, workbookUnreadable } from "./refusals.ts";
import { type Attributes, type XmlHandler, XmlReader } from "./xml.ts";

const { smallPartBytes, sheets: SHEETS_MAX, styles: STYLES_MAX } = LIMITS.bulk.workbook;

/** A sheet with cells. */
export interface Sheet {
  name: string;
  isHidden: boolean;
  part: string;
}

/** A workbook's own description of its sheets. */
export interface WorkbookParts {
  /** In the order of the tabs. */
  sheets: Sheet[];
  is1904: boolean;
  sharedStrings: string | null;
  styles: string | null;
}

interface Relationship {
  id: string;
  /** The last segment of its type: `worksheet`. Those of ISO 29500 strict end the same. */
  type: string;
  /** The part's name, from the archive's root. */
  part: string;
}

const NOTHING: XmlHandler = { open: () => {}, text: () => {}, close: () => {} };

/** Reads a small part whole. */
async function readSmall(archive: Archive, part: string, open: XmlHandler["open"]): Promise<void> {
  const reader = new XmlReader(part, { ...NOTHING, open });
  let bytes = 0;
  for await (const piece of archive.part(part)) {
    bytes += piece.length;
    if (bytes > smallPartBytes)
      throw workbookTooLarge(`its part ${part} has more than ${smallPartBytes} bytes`);
    reader.push(piece);
    await turn();
  }
  reader.end();
}

/** A target of a relationship as a name from the archive's root; nothing is above that. */
function resolve(source: string, target: string): string {
  const path = target.replaceAll("\\", "/");
  const folder = path.startsWith("/") ? [] : source.split("/").slice(0, -1);
  const segments: string[] = [];
  for (const segment of [...folder, ...path.split("/")]) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return segments.join("/");
}

function relationshipsPart(part: string): string {
  const slash = part.lastIndexOf("/") + 1;
  return `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`;
}

async function relationshipsOf(archive: Archive, part: string): Promise<Relationship[]> {
  const found: Relationship[] = [];
  const name = relationshipsPart(part);
  if (!archive.has(name)) return found;
  await readSmall(archive, name, (element, { Id = "", Type = "", Target = "", TargetMode }) => {
    if (element !== "Relationship" || TargetMode === "External") return;
    found.push({ id: Id, type: Type.slice(Type.lastIndexOf("/") + 1), part: resolve(part, Target) });
  });
  return found;
}

const SAVE_AS = "Open it in the program it comes from and save it as .xlsx or CSV.";

/** Names the kinds of ZIP archives that people take for workbooks. */
function refuseOthers(archive: Archive, main: string): void {
  if (/\.bin$/i.test(main) || archive.has("xl/workbook.bin"))
    throw notAWorkbook("a binary Excel workbook (.xlsb)", "Open it in Excel and save it as .xlsx or CSV.");
  if (archive.has(main)) return;
  if (archive.has("content.xml") && archive.has("mimetype"))
    throw notAWorkbook("an OpenDocument file (.ods)", SAVE_AS);
  if (["Index/Document.iwa", "Index.zip"].some((name) => archive.has(name)))
    throw notAWorkbook("a Numbers or Pages document", SAVE_AS);
  if (archive.has("[Content_Types].xml")) throw notAWorkbook("an Office document without sheets", SAVE_AS);
  throw notAWorkbook("a ZIP archive", "Upload the list itself, or a CSV file compressed once with gzip.");
}

/** @throws CsvProblemError also when the archive is not a workbook */
export async function readParts(archive: Archive): Promise<WorkbookParts> {
  const documents = await relationshipsOf(archive, "");
  const main = documents.find(({ type }) => type === "officeDocument")?.part ?? "xl/workbook.xml";
  refuseOthers(archive, main);
  const related = await relationshipsOf(archive, main);
  const partOf = (type: string) => related.find((one) => one.type === type && archive.has(one.part))?.part;
  const worksheets = new Map(
    related.filter(({ type }) => type === "worksheet").map(({ id, part }) => [id, part]),
  );
  const sheets: Sheet[] = [];
  let isWorkbook = false;
  let is1904 = false;
  const open = (element: string, attributes: Attributes) => {
    if (element === "workbook") isWorkbook = true;
    if (element === "workbookPr") is1904 = isTrue(attributes.date1904);
    if (element !== "sheet") return;
    const { name = "", state = "visible", id = "" } = attributes;
    const part = worksheets.get(id);
    if (part === undefined) return;
    if (sheets.length >= SHEETS_MAX) throw workbookTooLarge(`it has more than ${SHEETS_MAX} sheets`);
    sheets.push({ name, isHidden: state !== "visible", part });
  };
  await readSmall(archive, main, open);
  if (!isWorkbook) throw notAWorkbook("an Office document without sheets", SAVE_AS);
  if (sheets.length === 0) throw workbookUnreadable("it has no sheet with cells");
  return { sheets, is1904, sharedStrings: partOf("sharedStrings") ?? null, styles: partOf("styles") ?? null };
}

function isTrue(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

/** Whether each cell style shows a date or a time. */
export async function readDateStyles(archive: Archive, part: string | null): Promise<boolean[]> {
  const styles: boolean[] = [];
  if (part === null) return styles;
  const own = new Map<number, boolean>();
  const isDate = (id: number) => own.get(id) ?? isBuiltInDate(id);
  let inCellFormats = false;
  const open = (element: string, { numFmtId = "0", formatCode = "" }: Attributes) => {
    if (element === "numFmt") own.set(Number(numFmtId), isDateFormat(formatCode));
    else if (element === "cellXfs") inCellFormats = true;
    else if (element === "cellStyles" || element === "dxfs") inCellFormats = false;
    else if (element === "xf" && inCellFormats) styles.push(isDate(Number(numFmtId)));
    if (styles.length > STYLES_MAX) throw workbookTooLarge(`it has more than ${STYLES_MAX} styles`);
  };
  await readSmall(archive, part, open);
  return styles;
}
