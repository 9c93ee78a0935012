/*
 * The first field of a record of a list whose cells were split. It has the number of the list's row, and whether the record
 * is one address of several: twice the row, counted from 0, plus 1 for one of several.
 */

const LETTERS = "pqrstuvwxy";
const LOW_BITS = 0x0f;

/** Writes a mark in digits, or in letters with the same low bits if the delimiter is a digit. */
export function writeMark(row: number, isPart: boolean, delimiter: string): string {
  const digits = String(2 * row + (isPart ? 1 : 0));
  return /\d/.test(delimiter) ? digits.replace(/\d/g, (digit) => LETTERS.charAt(Number(digit))) : digits;
}

/** The mark of the record that begins at `from`. */
export function readMark(bytes: Buffer, from: number, delimiter: string): { row: number; isPart: boolean } {
  const end = delimiter.charCodeAt(0);
  let number = 0;
  for (let at = from; at < bytes.length && bytes[at] !== end; at++)
    number = 10 * number + ((bytes[at] as number) & LOW_BITS);
  return { row: Math.floor(number / 2), isPart: number % 2 === 1 };
}
