import { mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { errorLine } from "./finding.ts";

/** The machine, or container, that the process runs in. */
export interface HostFacts {
  /** `20.19.0` */
  node: string;
  /** null: the C library is another. */
  glibc: string | null;
  cores: number;
  /** CPUs that the control group grants; null: no limit. */
  cpuLimit: number | null;
  memoryBytes: number;
  /** Limit of the control group; null: none. */
  memoryLimitBytes: number | null;
  heapLimitBytes: number;
  /** Soft limit of open files; null: none, or not known. */
  openFiles: number | null;
  scratch: ScratchFacts;
  inKubernetes: boolean;
}

export interface ScratchFacts {
  dir: string;
  /** null: it can be written. */
  error: string | null;
  /** True for a file system in memory. */
  isMemory: boolean;
  freeBytes: number | null;
}

const MEMORY_FILE_SYSTEMS = new Set([0x01021994, 0x858458f6]);
const PROBE_BYTES = 65_536;
const CGROUP = "/sys/fs/cgroup";

async function read(path: string): Promise<string | null> {
  return readFile(path, "utf8").then(
    (text) => text.trim(),
    () => null,
  );
}

/** The number in the first of these files that has one. Control groups of version 2, then of version 1. */
async function readNumber(...paths: string[]): Promise<number | null> {
  for (const path of paths) {
    const text = await read(path);
    if (text !== null && /^\d+$/.test(text)) return Number(text);
  }
  return null;
}

async function cpuLimit(): Promise<number | null> {
  const max = /^(\d+) (\d+)$/.exec((await read(`${CGROUP}/cpu.max`)) ?? "");
  if (max !== null) return Number(max[1]) / Number(max[2]);
  const quota = await readNumber(`${CGROUP}/cpu/cpu.cfs_quota_us`);
  const period = await readNumber(`${CGROUP}/cpu/cpu.cfs_period_us`);
  return quota === null || period === null || period === 0 ? null : quota / period;
}

async function memoryLimit(): Promise<number | null> {
  const bytes = await readNumber(`${CGROUP}/memory.max`, `${CGROUP}/memory/memory.limit_in_bytes`);
  // Version 1 writes a number near 2^63 for no limit.
  return bytes === null || bytes >= totalmem() ? null : bytes;
}

async function openFiles(): Promise<number | null> {
  const limits = (await read("/proc/self/limits")) ?? "";
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Number(soft);
}

/** Writes a small file into a folder of its own there, and takes both away. */
async function lookAtScratch(dir: string): Promise<ScratchFacts> {
  let error: string | null = null;
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(dir, "rcpt-doctor-"));
    await writeFile(join(folder, "probe"), Buffer.alloc(PROBE_BYTES), { flush: true });
  } catch (cause) {
    error = errorLine(cause);
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
  const system = await statfs(dir).catch(() => null);
  return {
    dir,
    error,
    isMemory: system !== null && MEMORY_FILE_SYSTEMS.has(system.type),
    freeBytes: system === null ? null : system.bavail * system.bsize,
  };
}

function glibcVersion(): string | null {
  // Node.js 20.13 has it, its types do not say so.
  const reporting = process.report as typeof process.report & { excludeNetwork: boolean };
  if (!reporting) return null;
  // Otherwise a report looks up the names of all peers and blocks the process until the DNS has answered. Other groups
  // would measure that.
  const before = reporting.excludeNetwork;
  reporting.excludeNetwork = true;
  const report = reporting.getReport() as { header?: { glibcVersionRuntime?: string } } | string;
  reporting.excludeNetwork = before;
  return typeof report === "object" ? (report.header?.glibcVersionRuntime ?? null) : null;
}

export async function lookAtHost(scratchDir: string, variables: readonly string[]): Promise<HostFacts> {
  const [cpus, memory, files, scratch] = await Promise.all([
    cpuLimit(),
    memoryLimit(),
    openFiles(),
    lookAtScratch(scratchDir),
  ]);
  return {
    node: process.versions.node,
    glibc: glibcVersion(),
    cores: availableParallelism(),
    cpuLimit: cpus,
    memoryBytes: totalmem(),
    memoryLimitBytes: memory,
    heapLimitBytes: getHeapStatistics().heap_size_limit,
    openFiles: files,
    scratch,
    inKubernetes: variables.includes("KUBERNETES_SERVICE_HOST"),
  };
}
