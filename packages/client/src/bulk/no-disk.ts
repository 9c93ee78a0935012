import type { ReadableFile } from "./readable-file.ts";

/** Instead of disk-file.ts, where there is no disk. */
export function openDiskFile(path: string | URL): Promise<ReadableFile> {
  return Promise.reject(
    new TypeError(`${path} is a path, and pages cannot read files by their paths: pass a File`),
  );
}
