import { LIMITS } from "../../../config/limits/limits.ts";
import { CsvProblemError } from "../csv/problems.ts";
import { columnOf, dateText, numberText, stringText } from "./cell-text.ts";
import { checkText, workbookUnreadable } from "./refusals.ts";
import { RichText } from "./shared-strings.ts";
import type { StringTable } from "./string-table.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

const { columns: COLUMNS_MAX, recordBytes } = LIMITS.bulk;
const { blankRows: BLANK_ROWS_MAX } = LIMITS.bulk.workbook;

/** Tables that the cells of a sheet refer to. */
export interface SheetContext {
  strings: StringTable;
  /** By style. */
  isDate: readonly boolean[];
  is1904: boolean;
  delimiter: string;
}

/** A cell names a string beyond those that were read. */
export class StringsCut extends Error {
  override name = "StringsCut";
}

/** A formula that leads to an address, whatever text it shows: `HYPERLINK("mailto:a@x","Write to us")`. */
const LINK_TO_ADDRESS = /^\s*HYPERLINK\s*\(\s*"[^"]*@[^"]+"/i;

/**
 * Makes CSV of a sheet's XML: a record for each row that has a value, a blank line for others, fields by the cells'
 * references. Cells may come in any order; memory: one row. Hidden rows and columns are there as others are; of merged
 * cells the first has the value.
 */
export class SheetRows implements XmlHandler {
  readonly #context: SheetContext;
  readonly #special: RegExp;
  #records: string[] = [];
  #recordChars = 0;
  #cells: string[] = [];
  #rowChars = 0;
  #row = 0;
  #lastRow = 0;
  #column = -1;
  #type = "n";
  #style = 0;
  #value = "";
  #formula = "";
  #collects: "v" | "f" | null = null;
  readonly #rich = new RichText();
  #inCell = false;
  #inInline = false;

  constructor(context: SheetContext) {
    this.#context = context;
    this.#special = new RegExp(
      `["\\n\\r\\x${context.delimiter.charCodeAt(0).toString(16).padStart(2, "0")}]|^\\s|\\s$`,
    );
  }

  /** Characters that `take` would give. */
  get pendingChars(): number {
    return this.#recordChars;
  }

  /** The records since the last call, as CSV. */
  take(): Buffer {
    const text = this.#records.join("");
    this.#records = [];
    this.#recordChars = 0;
    return Buffer.from(text);
  }

  open(name: string, attributes: Attributes): void {
    if (this.#inInline) this.#rich.open(name);
    else if (name === "c") this.#openCell(attributes);
    else if (name === "v" || name === "f") this.#collects = this.#inCell ? name : null;
    else if (name === "row") this.#openRow(attributes);
    else if (name === "is" && this.#inCell) {
      this.#inInline = true;
      this.#rich.start();
    }
  }

  #openRow({ r }: Attributes): void {
    this.#row = r === undefined ? this.#row + 1 : Number(r);
    this.#cells = [];
    this.#rowChars = 0;
    this.#column = -1;
  }

  #openCell({ r, t = "n", s = "0" }: Attributes): void {
    this.#column = r === undefined ? this.#column + 1 : columnOf(r);
    if (this.#column < 0) throw workbookUnreadable(`a cell of row ${this.#row} has no place`);
    this.#type = t;
    this.#style = Number(s);
    this.#value = "";
    this.#formula = "";
    this.#inCell = true;
  }

  text(text: string): void {
    if (this.#inInline) this.#rich.add(text);
    else if (this.#collects !== null) {
      checkText(this.#value.length + this.#formula.length + text.length);
      if (this.#collects === "v") this.#value += text;
      else this.#formula += text;
    }
  }

  close(name: string): void {
    if (name === "is" && this.#inInline) {
      this.#inInline = false;
      this.#value = this.#rich.text;
    } else if (this.#inInline) this.#rich.close(name);
    else if (name === "v" || name === "f") this.#collects = null;
    else if (name === "c" && this.#inCell) {
      this.#inCell = false;
      this.#put(this.#cellText());
    } else if (name === "row") this.#closeRow();
  }

  /**
   * The text that a person sees. For a link to an address without an address in its text: the formula, which alone has the
   * address.
   */
  #cellText(): string {
    const shown = this.#shownText();
    if (this.#formula === "" || shown.includes("@") || !LINK_TO_ADDRESS.test(this.#formula)) return shown;
    return `=${this.#formula.trim()}`;
  }

  #shownText(): string {
    const value = this.#value;
    switch (this.#type) {
      case "s":
        return this.#sharedText(value);
      case "inlineStr":
        return value;
      case "str":
        return stringText(value);
      case "b":
        return value === "" ? "" : /^(?:1|true)$/i.test(value.trim()) ? "TRUE" : "FALSE";
      case "e":
      case "d":
        return value;
      default:
        return this.#context.isDate[this.#style] === true
          ? dateText(value, this.#context.is1904)
          : numberText(value);
    }
  }

  #sharedText(index: string): string {
    if (index.trim() === "") return "";
    const { strings } = this.#context;
    const text = strings.get(Number(index));
    if (text !== undefined) return text;
    if (!strings.isComplete) throw new StringsCut();
    throw workbookUnreadable(`row ${this.#row} names string ${index}, which is not there`);
  }

  #put(text: string): void {
    if (text === "") return;
    if (this.#column >= COLUMNS_MAX) {
      const detail = `Row ${this.#row} of the sheet has more than ${COLUMNS_MAX} columns.`;
      throw new CsvProblemError({ code: "too_many_columns", detail });
    }
    this.#rowChars += text.length;
    if (this.#rowChars > recordBytes) {
      const detail = `Row ${this.#row} of the sheet has more than ${recordBytes} bytes.`;
      throw new CsvProblemError({ code: "record_too_large", detail });
    }
    this.#cells[this.#column] = this.#special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  #closeRow(): void {
    // Holes become empty fields; a row without a value is skipped.
    if (this.#cells.length > 0) {
      const record = `${this.#blankLines()}${this.#cells.join(this.#context.delimiter)}\n`;
      this.#recordChars += record.length;
      this.#records.push(record);
    }
    this.#cells = [];
  }

  /** Lines for the empty rows above this one, so that line numbers equal the sheet's row numbers. */
  #blankLines(): string {
    const blank = this.#row - this.#lastRow - 1;
    this.#lastRow = this.#row;
    return blank > 0 && blank <= BLANK_ROWS_MAX ? "\n".repeat(blank) : "";
  }
}
