import { setImmediate as turn } from "node:timers/promises";
import type { Archive } from "./archive.ts";
import { stringText } from "./cell-text.ts";
import { tooLarge } from "./refusals.ts";
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

  add(text: string): void {
    if (this.#inText && !this.#inPhonetic) this.#text += text;
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
 * @param mayEnd a table that is full ends the reading; else it is a problem
 * @throws CsvProblemError
 */
export async function readSharedStrings(
  archive: Archive,
  part: string,
  table: StringTable,
  mayEnd: boolean,
): Promise<void> {
  const rich = new RichText();
  const reader = new XmlReader(part, {
    open: (name) => (name === "si" ? rich.start() : rich.open(name)),
    text: (text) => rich.add(text),
    close: (name) => (name === "si" ? table.add(rich.text) : rich.close(name)),
  });
  for await (const piece of archive.part(part)) {
    reader.push(piece);
    await table.settle();
    await turn();
    if (!table.isFull) continue;
    if (!mayEnd) throw tooLarge(`its texts have more than ${table.bytes} bytes`);
    return table.end();
  }
  reader.end();
  await table.end();
}
