import { setImmediate as turn } from "node:timers/promises";
import type { Archive } from "./archive.ts";
import { stringText } from "./cell-text.ts";
import { checkText, workbookTooLarge } from "./refusals.ts";
import type { StringTable } from "./string-table.ts";
import { XmlReader } from "./xml.ts";

/** Text of a cell or a shared string: of all its runs, without how East Asian text is pronounced. */
export class RichText {
  #text = "";
  #inText = false;
  #inPhonetic = false;

  start(): void {
    this.#text = "";
    this.#inText = false;
    this.#inPhonetic = false;
  }

  open(name: string): void {
    if (name === "t") this.#inText = true;
    else if (name === "rPh") this.#inPhonetic = true;
  }

  /** @throws CsvProblemError when the text gets too long */
  add(text: string): void {
    if (!this.#inText || this.#inPhonetic) return;
    checkText(this.#text.length + text.length);
    this.#text += text;
  }

  close(name: string): void {
    if (name === "t") this.#inText = false;
    else if (name === "rPh") this.#inPhonetic = false;
  }

  get text(): string {
    return stringText(this.#text);
  }
}

/**
 * Reads a workbook's shared strings into the table.
 * @param bytesMax maximum inflated bytes that are read; beyond them the table is incomplete (`isComplete` is false)
 * @throws CsvProblemError
 */
export async function readSharedStrings(
  archive: Archive,
  part: string,
  table: StringTable,
  bytesMax: number,
): Promise<void> {
  const rich = new RichText();
  const reader = new XmlReader(part, {
    open: (name) => (name === "si" ? rich.start() : rich.open(name)),
    text: (text) => rich.add(text),
    close: (name) => (name === "si" ? table.add(rich.text) : rich.close(name)),
  });
  let bytes = 0;
  for await (const piece of archive.part(part)) {
    reader.push(piece);
    await table.settle();
    await turn();
    bytes += piece.length;
    if (table.isFull) throw workbookTooLarge(`its texts have more than ${table.bytes} bytes`);
    if (bytes > bytesMax) return table.end();
  }
  reader.end();
  await table.end();
  table.isComplete = true;
}
