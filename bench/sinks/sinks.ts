import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "../../scripts/embedded/guard.ts";
import { findWrk } from "../../scripts/embedded/wrk.ts";
import { openNativeSinks, projectRoot } from "./native-sink.ts";
import type { SinkDelays, Sinks } from "./sink-account.ts";

/**
 * Guard of a process of the bench. It does nothing: the bench's own guard ends all processes with its mark, and the
 * sinks end with this process.
 */
const OF_THE_BENCH: Guard = {
  pid: 0,
  env: { RCPT_RUN: process.env.RCPT_RUN ?? "" },
  hold: () => undefined,
  removeAtEnd: (path) => void process.once("exit", () => rmSync(path, { recursive: true, force: true })),
  end: async () => undefined,
};

/** @throws Error one line that says what this machine lacks: Linux, or wrk */
export async function openSinks(addresses: readonly string[], delays: SinkDelays): Promise<Sinks> {
  if (process.platform !== "linux") throw new Error("the mail servers of the bench need Linux");
  const wrk = await findWrk({ cacheDir: join(projectRoot(), ".rcpt/cache"), guard: OF_THE_BENCH });
  return openNativeSinks(wrk, addresses, { delays, guard: OF_THE_BENCH });
}
