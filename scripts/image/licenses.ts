import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Lock, shippedPackages } from "./packages.ts";

const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;
const RULE = "-".repeat(78);

function textsOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && LICENSE_FILE.test(entry.name))
    .map((entry) => entry.name)
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8").trim());
}

/**
 * The licences of all packages that a deployment runs, including the bundled ones, whose files are not in the image:
 * name, version, name of the licence, and the package's own licence text.
 */
export function renderLicenses(root: string, lock: Lock): string {
  const parts = shippedPackages(root, lock).map((place) => {
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const head = `${name} ${lock[place]?.version ?? ""}\nLicense: ${lock[place]?.license ?? "see below"}`;
    return [RULE, head, ...textsOf(join(root, place))].join("\n\n");
  });
  return `Packages in this image, in the bundle and beside it, and their licences.\n\n${parts.join("\n\n")}\n`;
}
