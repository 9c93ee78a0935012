import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { compareKeys } from "./keys.ts";
import {
  type ObjectInfo,
  readBytes,
  readInfo,
  readNow,
  readParts,
  readPartsNow,
  type Staged,
  seal,
} from "./object-file.ts";

export interface ListQuery {
  prefix: string;
  delimiter: string;
  /** Keys and common prefixes up to and including this one were given before. */
  after: string;
  max: number;
}

export interface Listing {
  objects: ObjectInfo[];
  commonPrefixes: string[];
  /** The next page starts after this key; null: this page is the last. */
  next: string | null;
}

/**
 * One bucket: a file per object under the hash of its key, and in memory an index of all keys in order. A change is
 * one rename and one change of the index in the same turn, hence atomic for every request.
 */
export class Bucket {
  private readonly folder: string;
  private readonly assembledFolder: string;
  private readonly objects = new Map<string, ObjectInfo>();
  private readonly keys: string[] = [];
  /** Folders of parts that are being read, by how many; those of objects that are gone are removed by the last. */
  private readonly readers = new Map<string, number>();
  private readonly gone = new Set<string>();

  /** @param assembledFolder where the parts of objects made of parts lie */
  constructor(folder: string, assembledFolder: string) {
    this.folder = folder;
    this.assembledFolder = assembledFolder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) this.index(readInfo(join(entry.parentPath, entry.name)));
    }
  }

  get(key: string): ObjectInfo | undefined {
    return this.objects.get(key);
  }

  /** The bytes `start` to `end`, both included, as they are now, whatever happens to the object meanwhile. */
  read(info: ObjectInfo, start: number, end: number): Readable {
    if (info.assembled === undefined) return readBytes(this.pathOf(info.key), start, end);
    const { folder, parts } = info.assembled;
    this.readers.set(folder, (this.readers.get(folder) ?? 0) + 1);
    const body = Readable.from(readParts(join(this.assembledFolder, folder), parts, start, end), {
      objectMode: false,
    });
    // Emitted also for a stream that was never read.
    return body.once("close", () => this.leave(folder));
  }

  /** The same bytes in one buffer, for small ranges. */
  readNow(info: ObjectInfo, start: number, end: number): Buffer {
    if (info.assembled === undefined) return readNow(this.pathOf(info.key), start, end);
    const { folder, parts } = info.assembled;
    return readPartsNow(join(this.assembledFolder, folder), parts, start, end);
  }

  private leave(folder: string): void {
    const left = (this.readers.get(folder) ?? 1) - 1;
    if (left > 0) return void this.readers.set(folder, left);
    this.readers.delete(folder);
    if (this.gone.delete(folder))
      rmSync(join(this.assembledFolder, folder), { recursive: true, force: true });
  }

  /** Removes the parts of a deleted object once no stream reads them. */
  private drop(info: ObjectInfo | undefined): void {
    if (info?.assembled === undefined) return;
    this.gone.add(info.assembled.folder);
    this.readers.set(info.assembled.folder, (this.readers.get(info.assembled.folder) ?? 0) + 1);
    this.leave(info.assembled.folder);
  }

  /** Folders of parts that objects of this bucket lie in. */
  assembledFolders(): string[] {
    return [...this.objects.values()].flatMap(({ assembled }) => (assembled ? [assembled.folder] : []));
  }

  /** Makes the staged file the object, replacing what was there. */
  commit(staged: Staged, info: ObjectInfo): void {
    seal(staged, info);
    const path = this.pathOf(info.key);
    mkdirSync(join(path, ".."), { recursive: true });
    renameSync(staged.path, path);
    this.drop(this.objects.get(info.key));
    this.index(info);
  }

  delete(key: string): void {
    const info = this.objects.get(key);
    if (info === undefined) return;
    this.objects.delete(key);
    this.drop(info);
    rmSync(this.pathOf(key), { force: true });
    this.keys.splice(this.position(key), 1);
  }

  list({ prefix, delimiter, after, max }: ListQuery): Listing {
    const page: Listing = { objects: [], commonPrefixes: [], next: null };
    let last = after;
    for (let i = this.position(compareKeys(after, prefix) > 0 ? after : prefix); i < this.keys.length; i++) {
      const key = this.keys[i] ?? "";
      if (!key.startsWith(prefix)) break;
      const cut = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      const common = cut === -1 ? null : key.slice(0, cut + delimiter.length);
      if (key === after || (common !== null && (common === last || common === after))) continue;
      if (page.objects.length + page.commonPrefixes.length >= max)
        return { ...page, next: max === 0 ? null : last };
      const info = this.objects.get(key);
      if (common !== null) page.commonPrefixes.push(common);
      else if (info) page.objects.push(info);
      last = common ?? key;
    }
    return page;
  }

  private pathOf(key: string): string {
    const hash = createHash("sha256").update(key).digest("hex");
    return join(this.folder, hash.slice(0, 2), hash);
  }

  /** Index of the first key that is not before `key`. */
  private position(key: string): number {
    let low = 0;
    let high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.keys[middle] ?? "", key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private index(info: ObjectInfo): void {
    if (!this.objects.has(info.key)) this.keys.splice(this.position(info.key), 0, info.key);
    this.objects.set(info.key, info);
  }
}
