import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "../scripts/embedded/guard.ts";
import { findWrk } from "../scripts/embedded/wrk.ts";
import { openBareSinks } from "./bare-sink.ts";
import { openNativeSinks, projectRoot } from "./native-sink.ts";
import type { SinkDelays, Sinks } from "./sink-account.ts";

/** Of a process of the bench, which has none: the bench's ends whatever carries its mark, and the sinks end with this process. */
const OF_THE_BENCH: Guard = {
  pid: 0,
  env: { RCPT_RUN: process.env.RCPT_RUN ?? "" },
  hold: () => undefined,
  removeAtEnd: (path) => void process.once("exit", () => rmSync(path, { recursive: true, force: true })),
  end: async () => undefined,
};

/** The sinks of sink.lua, or, where there is no wrk to run it or no epoll, those of Node.js. */
export async function openSinks(addresses: readonly string[], delays: SinkDelays): Promise<Sinks> {
  if (process.platform !== "linux") return openBareSinks(addresses, delays);
  const cacheDir = join(projectRoot(), ".rcpt/cache");
  const wrk = await findWrk({ cacheDir, guard: OF_THE_BENCH }).catch(() => null);
  if (wrk === null) return openBareSinks(addresses, delays);
  return openNativeSinks(wrk, addresses, { delays, guard: OF_THE_BENCH });
}
