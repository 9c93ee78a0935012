import { LIMITS } from "../../core/limits.ts";
import { type OpenedText, type OpenOptions, openText } from "./csv/decode.ts";
import { type DetectedTable, detectLayout } from "./csv/detect.ts";
import { bytesOf } from "./csv/text-form.ts";
import type { JobProblem, SourceOptions } from "./layout.ts";

/** A source whose beginning has been read, and how the rest is to be read. */
export interface OpenedSource {
  ok: true;
  opened: OpenedText;
  detected: DetectedTable;
}

/**
 * Opens a source and finds out its layout by LIMITS.bulk.sampleBytes of its text: of a job and of a preview the same way.
 * Who gets one reads its text, or closes it.
 * @param decompressedBytes that a compressed source may have
 * @throws what the source throws
 */
export async function openSource(
  source: AsyncIterable<Uint8Array>,
  options: SourceOptions & Pick<OpenOptions, "workbook">,
  decompressedBytes: number,
): Promise<OpenedSource | ({ ok: false } & JobProblem)> {
  const limits = { decompressedBytes, sampleBytes: LIMITS.bulk.sampleBytes };
  const opened = await openText(source, limits, options);
  if (!opened.ok) return opened;
  const detected = detectLayout(opened.head, {
    ...options,
    ...opened.sheet,
    whole: opened.whole,
    bytesOf: bytesOf(opened.form),
    ...(opened.form.utf16 === null ? {} : { encoding: opened.form.utf16 }),
  });
  if (detected.ok) return { ok: true, opened, detected };
  await opened.close();
  return detected;
}
