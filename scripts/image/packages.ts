import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FROM_NODE_MODULES } from "./bundle.ts";

/** The Node.js that will run the packages: native modules are built for one. */
export interface Target {
  platform: string;
  arch: string;
  /** `process.versions.modules`, the version of the interface of native modules. */
  abi: string;
}

/**
 * Packages of which few files are read: these files are copied, and none of their dependencies. All others are copied
 * whole.
 */
const READ_OF: Readonly<Record<string, (target: Target) => string[]>> = {
  // 257 MB: a binary for each system and each Node.js.
  "uWebSockets.js": ({ platform, arch, abi }) => ["uws.js", `uws_${platform}_${arch}_${abi}.node`, "LICENSE"],
  "swagger-ui-dist": () => [
    ...["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"],
    ...["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"],
  ],
};

/** One place in node_modules, as described in package-lock.json. */
export interface LockedPackage {
  /** Where it is not that of its folder. */
  name?: string;
  version?: string;
  license?: string;
  dev?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export type Lock = Readonly<Record<string, LockedPackage>>;

/** @throws Error when the project has no lockfile of the form that is known */
export function readLock(root: string): Lock {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages?: Lock;
  };
  if (packages === undefined) throw new Error("package-lock.json lists no packages");
  return packages;
}

/** Place at which Node.js resolves `name` from a module in `from`; null: none. */
function placeOf(lock: Lock, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (lock[place] !== undefined) return place;
    if (folder === "") return null;
  }
}

/** A package, and the folder of the project that asks for it. */
interface Asked {
  name: string;
  from: string;
}

/**
 * Places of the packages and all their dependencies, sorted. Optional ones that are not installed belong to other
 * systems.
 *
 * @param goesOn whether to follow a package's dependencies
 * @throws Error when a required package is not installed, or not in the lockfile
 */
function closureOf(
  root: string,
  lock: Lock,
  asked: readonly Asked[],
  goesOn: (name: string) => boolean,
): string[] {
  const found = new Set<string>();
  const waiting = asked.map((one) => ({ ...one, optional: false }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const place = placeOf(lock, next.from, next.name);
    if (place === null || !existsSync(join(root, place, "package.json"))) {
      if (next.optional) continue;
      throw new Error(`${next.name} is not installed: npm ci`);
    }
    if (found.has(place)) continue;
    found.add(place);
    if (!goesOn(next.name)) continue;
    const { dependencies = {}, optionalDependencies = {} } = lock[place] ?? {};
    // npm lists optional ones among the others too.
    for (const name of new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]))
      waiting.push({ name, from: place, optional: name in optionalDependencies });
  }
  return [...found].sort();
}

/**
 * Places of all packages that are shipped, sorted: the dependencies of the service and of the workspaces (the portal's are bundled into
 * its pages), and what those need on this system.
 *
 * @throws Error as `closureOf` does
 */
export function shippedPackages(root: string, lock: Lock): string[] {
  const read = (folder: string): { dependencies?: object; workspaces?: string[] } =>
    JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const folders = ["", ...(read("").workspaces ?? [])];
  const asked = folders.flatMap((from) =>
    Object.keys(read(from).dependencies ?? {}).map((name) => ({ name, from })),
  );
  return closureOf(root, lock, asked, () => true);
}

/** A package, with the files of it that go into the image. */
export interface ChosenPackage {
  /** Its place, e.g. `node_modules/pino`. */
  place: string;
  /** Files and folders of it; null: all of it. */
  files: string[] | null;
}

/**
 * The packages that the bundle reads from node_modules (`FROM_NODE_MODULES`) and their dependencies, of each only the
 * files that are read.
 *
 * @throws Error when one is not installed, or not in the lockfile
 */
export function choosePackages(root: string, lock: Lock, target: Target): ChosenPackage[] {
  const asked = FROM_NODE_MODULES.map((name) => ({ name, from: "" }));
  const places = closureOf(root, lock, asked, (name) => READ_OF[name] === undefined);
  return places.map((place) => {
    const files = READ_OF[place.slice("node_modules/".length)]?.(target);
    return { place, files: files === undefined ? null : ["package.json", ...files] };
  });
}
