import { type Lock, readLock, shippedPackages } from "../image/packages.ts";
import { run } from "./run.ts";

/** What is read of a list of parts (CycloneDX, JSON). */
export interface PartList {
  metadata: { component: { "bom-ref": string; name: string } };
  components: { "bom-ref": string; name: string; version: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** A package's reference in npm's list. */
function refOf(place: string, lock: Lock): string {
  const name = lock[place]?.name ?? place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
  return `${name}@${lock[place]?.version}`;
}

/**
 * The parts that are shipped, of a checkout with its packages: npm's list of all, without what is for development. By itself
 * (`--omit dev`) npm 11 leaves out what such a package needs as well, as pino and ipaddr.js.
 */
export function listParts(source: string): PartList {
  const format = ["--sbom-format", "cyclonedx", "--sbom-type", "application"];
  const all = JSON.parse(run(source, "npm", "sbom", "--package-lock-only", ...format)) as PartList;
  const lock = readLock(source);
  const shipped = new Set(shippedPackages(source, lock).map((place) => refOf(place, lock)));
  shipped.add(all.metadata.component["bom-ref"]);
  const missing = [...shipped].filter((ref) => !all.dependencies.some((one) => one.ref === ref));
  if (missing.length > 0) throw new Error(`npm's list of parts lacks ${missing.join(", ")}`);
  return {
    ...all,
    components: all.components.filter((one) => shipped.has(one["bom-ref"])),
    dependencies: all.dependencies
      .filter(({ ref }) => shipped.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) })),
  };
}
