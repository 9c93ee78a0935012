import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** PostgreSQL refuses to run as root: root runs it as the system user `nobody`. */
export const NOBODY = { uid: 65_534, gid: 65_534 } as const;

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}

/** True when the user `nobody` can enter `path` and every folder above it. */
export function nobodyCanReach(path: string): boolean {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const { mode, uid } = statSync(folder);
    const bits = uid === NOBODY.uid ? mode >> 6 : mode;
    if ((bits & 0o1) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * A folder that the user `nobody` can reach, for a data folder below a private one. Its name is random, so that no
 * other user can have made it, and is stored in `<dataDir>/outside`. When it is missing (the system may clean such
 * folders), makes a new one and calls `say`.
 *
 * @throws Error when the stored folder is not ours any more.
 */
export function folderOutside(dataDir: string, say: (line: string) => void): string {
  const memory = join(dataDir, "outside");
  if (existsSync(memory)) {
    const folder = readFileSync(memory, "utf8").trim();
    if (existsSync(folder)) {
      const found = lstatSync(folder);
      if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
        throw new Error(`${folder} is not ours any more; remove ${memory} to start afresh`);
      return folder;
    }
    say(`the data of earlier runs was in ${folder}, which is gone: starting anew, without it`);
  }
  const base = existsSync("/var/tmp") ? "/var/tmp" : tmpdir();
  const folder = mkdtempSync(join(base, "rcpt-"));
  chmodSync(folder, 0o711);
  writeFileSync(memory, `${folder}\n`, { mode: 0o600 });
  return folder;
}

/** `dataDir` itself, made if missing, or its stand-in outside when the service's user cannot get there. */
export function reachableFolder(dataDir: string, say: (line: string) => void): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  if (!runsAsRoot() || nobodyCanReach(dataDir)) return dataDir;
  const folder = folderOutside(dataDir, say);
  say(`${dataDir} lies in a private folder, where PostgreSQL's own user cannot go: its data is in ${folder}`);
  return folder;
}
