import { type Config, countCheckThreads } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { bytesText, type DoctorFinding, type DoctorGroup, fail, ok, skipped, warn } from "./finding.ts";
import { type HostFacts, lookAtHost, type ScratchFacts } from "./host-facts.ts";

const NODE_MIN = [20, 19] as const;
/** From this version on the native web server needs a newer C library. */
const NODE_WITH_NEW_GLIBC = 22;
const GLIBC_MIN = [2, 38] as const;
/** Beside connections: files of the program, of scratch, sockets of stores and of probes. */
const FILES_BESIDE = 4_096;
const FILES_LEAST = 1_024;
const SCRATCH_LEAST_BYTES = 64 * 1_048_576;
/** A list of 10 million rows is analysed in 280 MB; repeats of a long one take more. */
const SCRATCH_EASY_BYTES = 2 * 1_073_741_824;
/** Memory of a cache entry, with its key, its evidence and its rendered answer. */
export const CACHE_ENTRY_BYTES = 1_500;
/** A process without any cache: program, threads' heaps, buffers. A check thread beside. */
const PROCESS_BYTES = 200 * 1_048_576;
const THREAD_BYTES = 60 * 1_048_576;

function isOlder(version: string, least: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < least[0] || (major === least[0] && minor < least[1]);
}

/** Findings about settings that do not fit the machine. Pure. */
export function judgeHost(
  host: HostFacts,
  config: Pick<Config, "verify" | "role" | "objects">,
): DoctorFinding[] {
  return [
    judgeNode(host),
    judgeGlibc(host),
    judgeOpenFiles(host),
    ...judgeScratch(host.scratch, config),
    judgeThreads(host, config),
    judgeMemory(host, config),
  ];
}

function judgeNode({ node }: HostFacts): DoctorFinding {
  if (!isOlder(node, NODE_MIN)) return ok("Node.js", `Node.js ${node}.`);
  return fail("Node.js", `Node.js ${node} is too old.`, `Run Node.js ${NODE_MIN.join(".")} or newer.`);
}

function judgeGlibc({ node, glibc }: HostFacts): DoctorFinding {
  const check = "C library";
  if (glibc === null) return skipped(check, "Which C library this is was not told (it should be glibc).");
  const wants = Number(node.split(".")[0]) >= NODE_WITH_NEW_GLIBC && isOlder(glibc, GLIBC_MIN);
  if (!wants) return ok(check, `glibc ${glibc}.`);
  return fail(
    check,
    `glibc ${glibc} is older than ${GLIBC_MIN.join(".")}, which the web server wants with Node.js ${node}.`,
    "Run Debian 13, Ubuntu 24.04 or newer, or Node.js 20.",
  );
}

function judgeOpenFiles({ openFiles }: HostFacts): DoctorFinding {
  const check = "open files";
  const wanted = LIMITS.http.connections + FILES_BESIDE;
  if (openFiles === null || openFiles >= wanted)
    return ok(check, `${openFiles ?? "Any number of"} files may be open at once.`);
  const seen = `${openFiles} files may be open at once; a process takes up to ${wanted} (${LIMITS.http.connections} connections of clients).`;
  const advice = `Raise the limit (ulimit -n ${2 ** Math.ceil(Math.log2(wanted))}, LimitNOFILE= of systemd, or of the container runtime).`;
  return openFiles < FILES_LEAST ? fail(check, seen, advice) : warn(check, seen, advice);
}

function judgeScratch(
  scratch: ScratchFacts,
  { objects, role }: Pick<Config, "objects" | "role">,
): DoctorFinding[] {
  const { dir, error, freeBytes, isMemory } = scratch;
  const check = "scratch directory";
  if (objects === null || role === "relay")
    return [skipped(check, "No rows are worked on here: there is nothing to put there.")];
  if (error !== null)
    return [
      fail(
        check,
        `${dir} cannot be written (${error}): no list can be analysed and no results joined.`,
        "Make it writable for the user that runs rcpt, or let SCRATCH_DIR name a directory that is.",
      ),
    ];
  const found: DoctorFinding[] = [];
  const move = "Let SCRATCH_DIR name a directory on a disk with room.";
  if (isMemory)
    found.push(warn(check, `${dir} lies in memory: what long lists need there comes off it.`, move));
  const free = freeBytes === null ? "an unknown number of bytes" : bytesText(freeBytes);
  const seen = `${dir} has ${free} free.`;
  if (freeBytes !== null && freeBytes < SCRATCH_LEAST_BYTES) found.push(fail(check, seen, move));
  else if (freeBytes !== null && freeBytes < SCRATCH_EASY_BYTES)
    found.push(warn(check, `${seen} A list takes 28 bytes a row, and its repeated results.`, move));
  else if (found.length === 0) found.push(ok(check, seen));
  return found;
}

function judgeThreads(
  { cores, cpuLimit }: HostFacts,
  { verify, role }: Pick<Config, "verify" | "role">,
): DoctorFinding {
  const check = "check threads";
  if (role === "relay") return skipped(check, "A relay has none.");
  const cpus = Math.min(cores, cpuLimit ?? cores);
  const seen = `${verify.threads} check threads for ${Number(cpus.toFixed(1))} CPUs`;
  if (verify.threads <= Math.ceil(cpus)) return ok(check, `${seen}.`);
  const limit = cpuLimit === null ? "" : " The limit of the container is not seen by the default.";
  return warn(
    check,
    `${seen}: they take it from each other.${limit}`,
    `Set CHECK_THREADS=${countCheckThreads(role, Math.max(1, Math.floor(cpus)))}.`,
  );
}

function judgeMemory(
  { memoryLimitBytes, memoryBytes, heapLimitBytes }: HostFacts,
  { verify, role }: Pick<Config, "verify" | "role">,
): DoctorFinding {
  const check = "memory";
  const cache = role === "relay" ? 0 : verify.cacheEntries * CACHE_ENTRY_BYTES;
  const threads = role === "relay" ? 0 : verify.threads * THREAD_BYTES;
  const processes = role === "all" ? 3 : 1;
  const needed = cache * (role === "all" ? 2 : 1) + threads + processes * PROCESS_BYTES;
  const there = memoryLimitBytes ?? memoryBytes;
  const sum = `some ${bytesText(needed)} when the cache (${verify.cacheEntries} entries) is full, of ${bytesText(there)}`;
  if (cache > heapLimitBytes * 0.8)
    return fail(
      check,
      `The cache alone takes ${bytesText(cache)} of a heap of ${bytesText(heapLimitBytes)} at most.`,
      "Set a smaller CACHE_ENTRIES, or NODE_OPTIONS=--max-old-space-size=MIB to what the machine can give.",
    );
  if (needed > there)
    return fail(check, `It takes ${sum}.`, "Give it more memory, or set a smaller CACHE_ENTRIES.");
  if (memoryLimitBytes !== null && heapLimitBytes > memoryLimitBytes)
    return warn(
      check,
      `The heap may grow to ${bytesText(heapLimitBytes)}, above the ${bytesText(memoryLimitBytes)} of the container: it would be killed rather than tidied.`,
      `Set NODE_OPTIONS=--max-old-space-size=${Math.floor((memoryLimitBytes / 1_048_576) * 0.6)}.`,
    );
  if (needed > there * 0.8)
    return warn(check, `It takes ${sum}.`, "Give it more memory, or set a smaller CACHE_ENTRIES.");
  return ok(check, `It takes ${sum}.`);
}

export const HOST_GROUP: DoctorGroup = {
  name: "host",
  title: "machine and process",
  async examine({ config, diagnosis }, { note }) {
    note(...judgeHost(await lookAtHost(config.scratchDir, diagnosis.variables), config));
  },
};
