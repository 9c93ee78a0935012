import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScratch, type Scratch } from "../../src/stores/scratch.ts";

export interface TestScratch extends Scratch {
  directory: string;
  /** Names of the directory's entries. */
  names(): string[];
  /** Number of files in it that this process has open; null where the system does not show that. */
  openFiles(): number | null;
  remove(): void;
}

/** A scratch directory of one test. */
export function createTestScratch(): TestScratch {
  const directory = mkdtempSync(join(tmpdir(), "rcpt-scratch-"));
  const descriptors = "/proc/self/fd";

  function target(fd: string): string {
    try {
      return readlinkSync(join(descriptors, fd));
    } catch {
      // The descriptor of the listing itself, which is closed by now.
      return "";
    }
  }

  return {
    ...createScratch(directory),
    directory,
    names: () => readdirSync(directory),
    openFiles: () =>
      existsSync(descriptors)
        ? readdirSync(descriptors).filter((fd) => target(fd).startsWith(directory)).length
        : null,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
