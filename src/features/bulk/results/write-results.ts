import { LIMITS } from "../../../config/limits/limits.ts";
import type { ObjectStreams } from "../../../stores/objects/object-streams.ts";
import { createReusableRowBuffer } from "../analysis/row-buffer.ts";
import { Interruption, interruptOnOutage } from "../run/control.ts";
import type { JobMaterial } from "./job-results.ts";
import { type JoinDeps, readJoined } from "./join.ts";
import { CONTENT_TYPES, FORMATS, formatOf } from "./result-rows.ts";
import { UnknownShardForm } from "./templated-part.ts";

export interface WriteResultsDeps extends Omit<JoinDeps, "streams" | "sizes"> {
  streams: Pick<ObjectStreams, "readRange" | "openWrite">;
}

async function write(
  deps: WriteResultsDeps,
  material: JobMaterial,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { partsInFlight } = LIMITS.results;
  const outputs = FORMATS.map((format) => ({
    // A writer has taken the bytes before the next are made, so that the buffer can be reused.
    format: formatOf(format, material, createReusableRowBuffer()),
    writer: deps.streams.openWrite(`${key}.${format}`, CONTENT_TYPES[format], signal, 0, partsInFlight),
  }));
  let joined = 0;
  try {
    for (const { format, writer } of outputs) await writer.write(format.start);
    for await (const rows of readJoined(deps, material, signal)) {
      joined += rows.length;
      await Promise.all(outputs.map(({ format, writer }) => writer.write(format.rows(rows))));
    }
    for (const { format, writer } of outputs) await writer.write(format.end());
    if (joined !== material.rows)
      throw new Error(`the shards of a job of ${material.rows} rows hold ${joined}`);
    await Promise.all(outputs.map(({ writer }) => writer.end()));
  } catch (error) {
    await Promise.all(outputs.map(({ writer }) => writer.abort()));
    throw error;
  }
}

/**
 * Writes the results of all rows under `key`, in all formats at once. Memory: that of the join, and of a writer for each
 * format.
 * @throws Interruption, also for a shard of a newer build: the task is not at fault, and reaches a worker of that build in
 *   the end; SourceLost, MissingObject and other errors that `lossOf` recognises; Error when a row has no result, or an
 *   object differs from the one written. Then nothing is written.
 */
export async function writeResults(
  deps: WriteResultsDeps,
  material: JobMaterial,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await interruptOnOutage(() => write(deps, material, key, signal));
  } catch (error) {
    if (!(error instanceof UnknownShardForm)) throw error;
    throw new Interruption("a newer build wrote a shard", { cause: error });
  }
}
