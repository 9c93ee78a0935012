// Which Node.js can load the server here. Plain JavaScript: it must work before anything is installed.

/**
 * The binaries of uWebSockets.js that are used, by `process.versions.modules`: Node.js 20, 22, 24, 25. On Linux each asks
 * for a glibc at least this old. docs/image.md says which upstream version each is.
 */
export const SERVER_BINARIES = new Map([
  ["115", { node: 20, glibc: "2.27" }],
  ["127", { node: 22, glibc: "2.38" }],
  ["137", { node: 24, glibc: "2.38" }],
  ["141", { node: 25, glibc: "2.38" }],
]);

/**
 * Releases to use where this Node.js cannot load the server, the best first. `glibc`: the version that both Node.js and
 * the server's binary need. The packages come from the registry, with the hashes that npm checks.
 */
export const RELEASES = [
  {
    version: "24.21.0",
    glibc: "2.38",
    integrity: {
      x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
      arm64:
        "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    },
  },
  {
    version: "20.20.2",
    glibc: "2.28",
    integrity: {
      x64: "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
      arm64:
        "sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==",
    },
  },
];

/** Properties of this process that the choice depends on. `glibc`: null with another C library. */
export function thisSystem() {
  const { version, platform, arch } = process;
  return { version: version.slice(1), abi: process.versions.modules, platform, arch, glibc: glibcVersion() };
}

function glibcVersion() {
  if (process.platform !== "linux") return null;
  // The report would look up the names of all addresses in use.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ?? null;
}

/** Whether version `a` (such as `2.36`) is at least `b`. */
function isAtLeast(a, b) {
  const [aMajor, aMinor] = a.split(".").map(Number);
  const [bMajor, bMinor] = b.split(".").map(Number);
  return aMajor > bMajor || (aMajor === bMajor && aMinor >= bMinor);
}

/**
 * Chooses the Node.js to continue with.
 * @returns `{ use: "this" }`; `{ use: "release", release, why }`, an entry of RELEASES; or `{ use: "none", why, remedy
 * }`
 */
export function chooseNode({ version, abi, platform, arch, glibc }) {
  const binary = SERVER_BINARIES.get(abi);
  if (platform !== "linux") return elsewhere(binary, version);
  if (!["x64", "arm64"].includes(arch))
    return none(`there is no server for Linux on ${arch}`, "Use an x64 or arm64 machine.");
  if (glibc === null)
    return none(
      "the server needs glibc, and this system's C library is another",
      "Use a system with glibc, as Debian or Ubuntu, or the image (docs/image.md).",
    );
  if (binary !== undefined && isAtLeast(glibc, binary.glibc)) return { use: "this" };
  const why =
    binary === undefined
      ? `there is no server for Node.js ${version}`
      : `the server for Node.js ${binary.node} needs glibc ${binary.glibc}, this system has ${glibc}`;
  const release = RELEASES.find((each) => isAtLeast(glibc, each.glibc));
  if (release === undefined)
    return none(
      `glibc ${glibc} is too old for any server`,
      "Use a newer system, or the image (docs/image.md).",
    );
  return { use: "release", release, why };
}

/** macOS and Windows: the binaries ask for nothing, and no Node.js is fetched. */
function elsewhere(binary, version) {
  if (binary !== undefined) return { use: "this" };
  return none(`there is no server for Node.js ${version}`, "Install Node.js 24, or 22.");
}

const none = (why, remedy) => ({ use: "none", why, remedy });
