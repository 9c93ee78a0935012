import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/**
 * Lists as files on disk, which go to the browser by their path: as bytes they would pass through its debugger's
 * connection. They are removed after the tests of the calling file.
 */
export function useLists(): { write(name: string, text: string): string } {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-lists-"));
  after(() => rmSync(folder, { recursive: true }));
  return {
    /** Writes a list. @returns its path */
    write(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
  };
}
