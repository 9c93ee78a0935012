import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import { pin } from "../../../bench/pin.ts";

/** Of the threads of who is to have little; who takes the rest has 0, hence some five times the weight of each of them. */
const NICE = 7;
/** Nobody lives for longer than this, whatever becomes of who began it. */
const RIVAL_MS = 120_000;
const RIVAL = `const end = Date.now() + ${RIVAL_MS}; while (Date.now() < end);`;

/**
 * Leaves a process a part of its core, a quarter or so, to a rival that never rests: as a small machine would, so that one sender can ask
 * it for ten times what it can do. Threads that it makes later keep their full weight.
 * @throws Error where the process is gone, or a priority cannot be set
 */
export async function makeScarce(pid: number, core: number): Promise<{ end(): void }> {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), NICE);
  const rival = spawn(process.execPath, ["-e", RIVAL], { stdio: "ignore" });
  rival.on("error", () => undefined);
  if (rival.pid === undefined) throw new Error("the rival cannot be started");
  await pin(rival.pid, core);
  return { end: () => void rival.kill("SIGKILL") };
}
