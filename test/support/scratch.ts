import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScratch, type Scratch } from "../../src/stores/scratch.ts";

export interface TestScratch extends Scratch {
  directory: string;
  /** Names that are to be seen in it. */
  names(): string[];
  /** Files in it that this process has open; null: this system does not tell. */
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
      // That of the listing itself.
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
