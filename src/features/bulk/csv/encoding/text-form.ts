import type { Utf16 } from "./encoding.ts";

/** The conversion of an object's bytes to its text. Without gzip and UTF-16 they are the text. */
export interface TextForm {
  gzip: boolean;
  utf16: Utf16 | null;
  /** A sheet of a workbook, written as CSV. */
  workbook?: boolean;
}

/** Unit of byte positions in details, added to their number; "" for bytes of the object itself. */
export function byteUnitOf({ gzip, utf16, workbook = false }: TextForm): string {
  if (workbook) return " of the sheet when it is written as CSV";
  if (gzip) return ` of the decompressed text${utf16 !== null ? " when it is read as UTF-8" : ""}`;
  return utf16 !== null ? " of the text when it is read as UTF-8" : "";
}

/** When a list has as many bytes as a detail says; "" of the object itself. */
export function whenRead({ gzip, utf16, workbook = false }: TextForm): string {
  if (workbook) return " when its sheet is written as CSV";
  if (gzip) return ` when it is decompressed${utf16 !== null ? " and read as UTF-8" : ""}`;
  return utf16 !== null ? " when it is read as UTF-8" : "";
}
