// What the system reports about processes. Plain JavaScript: it must run before anything is installed.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Fields of /proc/PID/stat from the third (state) on; the second, the name, may hold spaces and brackets. */
function statFields(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

function ps(pid, column) {
  try {
    const out = execFileSync("ps", ["-o", `${column}=`, "-p", String(pid)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return out.trim() || null;
  } catch {
    return null;
  }
}

/**
 * When process `pid` began, as an opaque text; null when it does not exist or is a zombie. With the pid it identifies
 * one process for good: pids are used again, pairs are not.
 */
export function startOf(pid) {
  if (process.platform !== "linux") return ps(pid, "lstart");
  const fields = statFields(pid);
  return fields === null || fields[0] === "Z" || fields[0] === "X" ? null : fields[19];
}

/** Pid of the parent, or null. */
export function parentOf(pid) {
  const parent = process.platform === "linux" ? statFields(pid)?.[1] : ps(pid, "ppid");
  return parent === undefined || parent === null ? null : Number(parent);
}

/** The command line of a process, words joined by spaces; "" when it cannot be read. */
export function commandOf(pid) {
  if (process.platform !== "linux") return ps(pid, "command") ?? "";
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

/**
 * Pids of the living processes that were started with `NAME=value` in their environment, this one excepted.
 * Linux only; elsewhere nothing is found.
 */
export function markedWith(mark) {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && hasMark(name, mark))
    .map(Number);
}

function hasMark(pid, mark) {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(mark) && startOf(pid) !== null;
  } catch {
    return false;
  }
}
