import { parseArgs } from "node:util";
import { type Image, readImage } from "./image.ts";

const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

export interface ReleaseOptions {
  version: string;
  /** Whether version and changelog are changed in the checkout too. */
  write: boolean;
  /** That the manifests of the release name; null: by the version as its tag. */
  image: Image | null;
}

/** `VERSION [--write] [--image REPOSITORY@sha256:…]`. @throws Error one line that says what is wrong */
export function readReleaseOptions(args: string[]): ReleaseOptions {
  const { values, positionals } = parseArgs({
    args,
    options: { write: { type: "boolean", default: false }, image: { type: "string" } },
    allowPositionals: true,
  });
  const [version = "", ...others] = positionals;
  if (!SEMVER.test(version) || others.length > 0) throw new Error("a version such as 1.2.3 is needed");
  const image = values.image === undefined ? null : readImage(values.image);
  if (values.image !== undefined && image === null)
    throw new Error("--image is REPOSITORY@sha256: and 64 hexadecimal digits");
  return { version, write: values.write, image };
}
