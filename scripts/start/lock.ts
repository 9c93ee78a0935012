import { setTimeout as wait } from "node:timers/promises";
import { startOf } from "../processes.mjs";
import { readLockFile, removeStaleLock, takeLockFile } from "../run/lock-file.mjs";

interface Holder {
  pid: number;
  start: string;
  /** The guard that still ends the services of a launcher that was killed. */
  guardPid: number;
  guardStart: string;
}

const GUARD_WAIT_MS = 90_000;
const ATTEMPTS = 5;

async function untilGone(pid: number, start: string): Promise<boolean> {
  const deadline = Date.now() + GUARD_WAIT_MS;
  while (startOf(pid) === start) {
    if (Date.now() > deadline) return false;
    await wait(50);
  }
  return true;
}

/**
 * Locks a data folder for this process. The lock of a dead process is taken over once its guard has ended the processes
 * that it left. The guard removes the lock at the end.
 *
 * @throws Error that names the process which runs here already.
 */
export async function takeLock(file: string, guardPid: number, say: (line: string) => void): Promise<void> {
  const mine = { pid: process.pid, start: startOf(process.pid), guardPid, guardStart: startOf(guardPid) };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (takeLockFile(file, mine)) return;
    const found = readLockFile<Holder>(file);
    if (found === null) continue;
    if (found.holder !== null) {
      const { pid, start, guardPid: guard, guardStart } = found.holder;
      if (startOf(pid) === start)
        throw new Error(
          `rcpt runs in this folder already (process ${pid}). Stop it first, or use another clone.`,
        );
      if (startOf(guard) === guardStart) {
        say("waiting for the previous run to end");
        if (!(await untilGone(guard, guardStart)))
          throw new Error(`the previous run does not end (process ${guard})`);
      }
    }
    removeStaleLock(file, found.text);
  }
  throw new Error(`cannot take ${file}: others keep taking it`);
}
