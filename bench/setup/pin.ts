import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { familyOf } from "../cpu/family.ts";

const run = promisify(execFile);

/** Cores of server and generator, so that neither takes the other's. */
export interface Cores {
  server: number;
  load: number;
}

/** @throws Error one line that says why processes cannot be pinned here */
export async function chooseCores(): Promise<Cores> {
  if (process.platform !== "linux") throw new Error("processes are pinned on Linux alone");
  if (availableParallelism() < 2) throw new Error("server and generator need a core each");
  const { stdout } = await run("taskset", ["-cp", String(process.pid)]).catch(() => {
    throw new Error("there is no taskset: sudo apt-get install util-linux");
  });
  await run("chrt", ["--version"]).catch(() => {
    throw new Error("there is no chrt: sudo apt-get install util-linux");
  });
  const [server, load] = coresOf(stdout.slice(stdout.lastIndexOf(":") + 1).trim());
  if (server === undefined || load === undefined) throw new Error("server and generator need a core each");
  return { server, load };
}

/** @param list as taskset writes it: `0,1`, `0-3,8` */
export function coresOf(list: string): number[] {
  return list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/** Pins a process with all its threads; those it makes later are its main thread's children, hence pinned as well. */
export async function pin(pid: number, core: number): Promise<void> {
  await run("taskset", ["-a", "-cp", String(core), String(pid)]);
}

async function placeBehind(pid: number, core: number): Promise<void> {
  try {
    await pin(pid, core);
    await run("chrt", ["-a", "--idle", "-p", "0", String(pid)]);
  } catch (error) {
    if (existsSync(`/proc/${pid}`)) throw error;
  }
}

/**
 * Pins processes and their children, and those that they create later, to a core that they use only when it is idle
 * (SCHED_IDLE). This cannot be undone: only root may raise the priority of a process.
 * @throws Error where an existing process cannot be pinned
 */
export async function pinBehind(pids: readonly number[], core: number): Promise<void> {
  const placed = new Set<number>();
  const others = () => pids.flatMap(familyOf).filter((pid) => !placed.has(pid));
  // One that was made while its parent was not placed yet is found by the next look.
  for (let found = others(); found.length > 0; found = others())
    for (const pid of found) {
      placed.add(pid);
      await placeBehind(pid, core);
    }
}
