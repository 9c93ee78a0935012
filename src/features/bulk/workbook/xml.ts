import { SaxesParser, type SaxesTagPlain } from "saxes";
import { LIMITS } from "../../../config/limits/limits.ts";
import { CsvProblemError } from "../csv/problems.ts";
import { workbookUnreadable } from "./refusals.ts";

const { xmlDepth, tokenBytes } = LIMITS.bulk.workbook;

/** Attributes by local name: of two that differ by prefix only, the later. */
export type Attributes = Readonly<Record<string, string>>;

/** Receives a part's XML, in order; names without prefix. An error of it ends the reading. */
export interface XmlHandler {
  open(name: string, attributes: Attributes): void;
  text(text: string): void;
  close(name: string): void;
}

function local(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function localAttributes(attributes: Record<string, string>): Attributes {
  for (const name in attributes)
    if (name.includes(":"))
      return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [local(key), value]));
  return attributes;
}

/**
 * Parses XML as it comes. No document type, hence no entities but the five; UTF-8, or UTF-16 with a byte order mark.
 * Memory: one token.
 */
export class XmlReader {
  readonly #part: string;
  readonly #parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false });
  #decoder: InstanceType<typeof TextDecoder> | null = null;
  #sinceToken = 0;
  #depth = 0;

  /** @param part its name, for problems */
  constructor(part: string, handler: XmlHandler) {
    this.#part = part;
    const parser = this.#parser;
    const told = () => {
      this.#sinceToken = 0;
    };
    parser.on("error", () => this.#refuse("is no well-formed XML"));
    parser.on("doctype", () => this.#refuse("has a document type"));
    parser.on("xmldecl", ({ encoding = "utf-8" }) => {
      if (!/^(?:utf-?8|utf-?16(?:le|be)?|us-ascii)$/i.test(encoding)) this.#refuse(`is in ${encoding}`);
    });
    parser.on("opentag", ({ name, attributes }: SaxesTagPlain) => {
      told();
      this.#depth += 1;
      if (this.#depth > xmlDepth) this.#refuse(`is nested deeper than ${xmlDepth} levels`);
      handler.open(local(name), localAttributes(attributes));
    });
    parser.on("closetag", ({ name }: SaxesTagPlain) => {
      told();
      this.#depth -= 1;
      handler.close(local(name));
    });
    const text = (content: string) => {
      told();
      handler.text(content);
    };
    parser.on("text", text);
    parser.on("cdata", text);
    parser.on("comment", told);
    parser.on("processinginstruction", told);
  }

  #refuse(why: string): never {
    throw workbookUnreadable(`its part ${this.#part} ${why}`);
  }

  /** @throws CsvProblemError */
  push(piece: Buffer): void {
    this.#decoder ??= new TextDecoder(encodingOf(piece));
    this.#sinceToken += piece.length;
    this.#parser.write(this.#decoder.decode(piece, { stream: true }));
    if (this.#sinceToken <= tokenBytes) return;
    const detail = `The workbook's part ${this.#part} has a text of more than ${tokenBytes} bytes.`;
    throw new CsvProblemError({ code: "record_too_large", detail });
  }

  /** @throws CsvProblemError when it ends in the middle */
  end(): void {
    if (this.#decoder !== null) this.#parser.write(this.#decoder.decode());
    this.#parser.close();
  }
}

function encodingOf(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : "utf-8";
}
