import { parseRecords } from "./parse.ts";

const QUOTE = 0x22;

/**
 * What `parseRecords` gives, sooner: where there is no quote, which is most often so, a line is a record and a delimiter
 * the end of a field.
 */
export function splitRecords(bytes: Buffer, delimiter: string): string[][] {
  if (bytes.includes(QUOTE)) return parseRecords(bytes, delimiter);
  const records: string[][] = [];
  for (const line of bytes.toString("latin1").split(/\r\n|[\r\n]/))
    if (line !== "") records.push(line.split(delimiter));
  return records;
}
