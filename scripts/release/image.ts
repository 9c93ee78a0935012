import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** An image by its content, which no push changes. */
export interface Image {
  repository: string;
  /** `sha256:` and 64 digits. */
  digest: string;
}

export const referenceOf = ({ repository, digest }: Image): string => `${repository}@${digest}`;

/** `REPOSITORY@sha256:…`; null: it is none. */
export function readImage(text: string): Image | null {
  const [, repository, digest] = /^([\w.-]+(?::\d+)?(?:\/[\w.-]+)+)@(sha256:[0-9a-f]{64})$/.exec(text) ?? [];
  return repository === undefined || digest === undefined ? null : { repository, digest };
}

/** Where the manifests name the image, and what stands there instead. */
const PLACES: readonly [path: string, found: RegExp, written: (image: Image) => string][] = [
  [
    "k8s/chart/values.yaml",
    /^ {2}repository: \S+\n([\s\S]*?)^ {2}digest: ""$/m,
    ({ repository, digest }) => `  repository: ${repository}\n$1  digest: ${digest}`,
  ],
  [
    "k8s/chart/presets/production.yaml",
    /^ {2}repository: \S+\n {2}tag: \S+$/m,
    ({ repository, digest }) => `  repository: ${repository}\n  digest: ${digest}`,
  ],
  [
    "k8s/overlays/production/kustomization.yaml",
    /^ {4}newName: \S+\n {4}newTag: \S+$/m,
    ({ repository, digest }) => `    newName: ${repository}\n    digest: ${digest}`,
  ],
];

/**
 * Has the chart, its preset and the production overlay name this image by its digest.
 * @throws Error when one of them does not name an image as expected
 */
export function writeImage(root: string, image: Image): void {
  for (const [path, found, written] of PLACES) {
    const text = readFileSync(join(root, path), "utf8");
    if (!found.test(text)) throw new Error(`${path} names no image as expected`);
    writeFileSync(join(root, path), text.replace(found, written(image)));
  }
}
