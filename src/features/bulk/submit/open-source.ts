import { LIMITS } from "../../../config/limits/limits.ts";
import type { JobProblem, SourceOptions } from "../analysis/layout.ts";
import { isAddressList, LIST_DELIMITER, listRows } from "../csv/address-list.ts";
import { type DetectedTable, detectLayout } from "../csv/detect.ts";
import { type OpenedText, type OpenOptions, openText } from "../csv/encoding/decode.ts";
import { byteUnitOf } from "../csv/encoding/text-form.ts";
import { peekStart } from "../csv/start.ts";

/** A source whose beginning has been read, with the way to read the rest. */
export interface OpenedSource {
  ok: true;
  opened: OpenedText;
  detected: DetectedTable;
}

/** The warning for lists that are not tables. */
export const LIST_WARNING = {
  code: "address_list",
  detail: "The lines are addresses and nothing else, several on a line: each address is a row.",
};

/** A request that names a delimiter, a column or a header has a table. */
function mayBeList({ delimiter, emailColumn, hasHeader }: SourceOptions): boolean {
  return delimiter === undefined && emailColumn === undefined && hasHeader !== true;
}

/** The text of a list, an address a line (csv/address-list.ts). */
async function asRows(list: OpenedText, sampleBytes: number): Promise<OpenedText> {
  const { start: head, whole, all, close } = await peekStart(listRows(list.text), sampleBytes);
  return { ...list, rangeReadable: false, head, whole, text: all(), close };
}

/**
 * Opens a source and detects its layout from LIMITS.bulk.sampleBytes of its text, for a job and a preview alike. The caller
 * must read the text of an opened source, or close it.
 * @param decompressedBytes maximum for a compressed source
 * @throws errors of the source
 */
export async function openSource(
  source: AsyncIterable<Uint8Array>,
  options: SourceOptions & Pick<OpenOptions, "workbook">,
  decompressedBytes: number,
): Promise<OpenedSource | ({ ok: false } & JobProblem)> {
  const limits = { decompressedBytes, sampleBytes: LIMITS.bulk.sampleBytes };
  const text = await openText(source, limits, options);
  if (!text.ok) return text;
  const isList = mayBeList(options) && text.sheet === null && isAddressList(text.head, text.whole);
  const opened = isList ? await asRows(text, limits.sampleBytes) : text;
  const { workbook: _, ...said } = options;
  const detected = await detectLayout(opened.head, {
    ...said,
    ...(isList ? { delimiter: LIST_DELIMITER, hasHeader: false, escape: '"' as const } : {}),
    ...opened.sheet,
    whole: opened.whole,
    bytesOf: byteUnitOf(opened.form),
    ...(opened.form.utf16 === null ? {} : { encoding: opened.form.utf16 }),
  });
  if (detected.ok) {
    if (isList) detected.warnings.push(LIST_WARNING);
    return { ok: true, opened, detected };
  }
  await opened.close();
  return detected;
}
