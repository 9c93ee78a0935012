// Files that one process at a time may hold. Plain JavaScript: it must work before anything is installed.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { startOf } from "../processes.mjs";

const LOOK_MS = 200;

/** Writes `holder` as the lock: whole, since another process may read it at once. @returns false when there is a lock */
export function takeLockFile(file, holder) {
  const whole = `${file}.${process.pid}.new`;
  try {
    writeFileSync(whole, JSON.stringify(holder), { mode: 0o600 });
    linkSync(whole, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(whole, { force: true });
  }
}

/**
 * The lock as text, and its holder; `holder` is null when it cannot be read. null: there is no lock.
 * @throws the file system's error, such as EACCES for another user's lock
 */
export function readLockFile(file) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
  try {
    return { text, holder: JSON.parse(text) };
  } catch {
    return { text, holder: null };
  }
}

/** Removes the lock that was read as `text`. If another process has replaced it meanwhile, puts that lock back. */
export function removeStaleLock(file, text) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, "utf8") !== text) linkSync(aside, file);
  } catch (error) {
    // Another process was faster; the next attempt reads its lock.
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/**
 * Runs `work` while no other process holds `file`. The lock of a process that has ended is taken over.
 * @param onWait called once with the pid of the process that is waited for
 */
export async function withLockFile(file, onWait, work) {
  mkdirSync(dirname(file), { recursive: true });
  const mine = { pid: process.pid, start: startOf(process.pid) };
  for (let hasReported = false; !takeLockFile(file, mine); ) {
    const found = readLockFile(file);
    if (found === null) continue;
    if (found.holder === null || startOf(found.holder.pid) !== found.holder.start) {
      removeStaleLock(file, found.text);
      continue;
    }
    if (!hasReported) onWait(found.holder.pid);
    hasReported = true;
    await wait(LOOK_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}
