import { parseArgs } from "node:util";

const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

export interface ReleaseOptions {
  version: string;
  /** Whether version and changelog are changed in the checkout too. */
  write: boolean;
}

/** `VERSION [--write]`. @throws Error one line that says what is wrong */
export function readReleaseOptions(args: string[]): ReleaseOptions {
  const { values, positionals } = parseArgs({
    args,
    options: { write: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const [version = "", ...others] = positionals;
  if (!SEMVER.test(version) || others.length > 0) throw new Error("a version such as 1.2.3 is needed");
  return { version, write: values.write };
}
