import { readdirSync, readFileSync } from "node:fs";

/** The parent's pid of every process that runs now, by pid. */
function parents(): Map<number, number> {
  const found = new Map<number, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      found.set(Number(entry), parentOf(Number(entry)));
    } catch {}
  }
  return found;
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function isOf(ancestor: number, pid: number, parentsOf: Map<number, number>): boolean {
  for (let at = pid; at > 1; at = parentsOf.get(at) ?? 0) if (at === ancestor) return true;
  return false;
}

/** `ancestor` and all that descend from it; one may be gone by the time it is looked at. Linux only. */
export function familyOf(ancestor: number): number[] {
  const parentsOf = parents();
  return [...parentsOf.keys()].filter((pid) => isOf(ancestor, pid, parentsOf));
}
