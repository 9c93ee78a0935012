import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Remote ports of this network namespace's sockets, by inode; listening sockets have none. */
function remotePorts(pid: number): Map<string, number> {
  const ports = new Map<string, number>();
  for (const table of ["tcp", "tcp6"]) {
    const [, ...lines] = readFileSync(`/proc/${pid}/net/${table}`, "latin1").trim().split("\n");
    for (const line of lines) {
      const [, , remote = "", , , , , , , inode = ""] = line.trim().split(/\s+/);
      const port = Number.parseInt(remote.split(":")[1] ?? "", 16);
      if (port > 0) ports.set(inode, port);
    }
  }
  return ports;
}

function kindOf(target: string, ports: ReadonlyMap<string, number>): string {
  const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
  if (inode === undefined)
    return /^(pipe|anon_inode):/.test(target) ? target.replace(/:\[\d+\]$/, "") : "file";
  const port = ports.get(inode);
  return port === undefined ? "other socket" : `connection with port ${port}`;
}

/** null: it was closed meanwhile. */
function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/**
 * The descriptors of a process counted by kind, most frequent first; empty when it has ended or belongs to another
 * user.
 */
export function describeDescriptors(pid: number): string {
  const counts = new Map<string, number>();
  try {
    const ports = remotePorts(pid);
    for (const name of readdirSync(`/proc/${pid}/fd`)) {
      const target = targetOf(`/proc/${pid}/fd/${name}`);
      if (target === null) continue;
      const kind = kindOf(target, ports);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  } catch {
    return "";
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([kind, count]) => `${count} ${kind}`).join(", ");
}
