import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { invalid, noSuchUpload, S3Error } from "./error.ts";
import { compareKeys } from "./keys.ts";
import { type ObjectInfo, type PartFile, readInfo, type Staged, seal } from "./object-file.ts";

export interface Upload {
  bucket: string;
  key: string;
  contentType: string;
  headers: Record<string, string>;
}

export interface NamedPart {
  number: number;
  etag: string;
}

const PART_MIN_BYTES = 5 * 1024 ** 2;
const PARTS_MAX = 10_000;

/** Multipart uploads in progress: a folder each, with the parts as sealed files named by their number. */
export class Multipart {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  create(upload: Upload): string {
    const id = randomUUID();
    mkdirSync(join(this.folder, id));
    writeFileSync(join(this.folder, id, "upload.json"), JSON.stringify(upload));
    return id;
  }

  /** @throws S3Error 404 when there is no such upload for this bucket and key. */
  get(id: string, bucket: string, key: string): Upload {
    const file = join(this.folder, id, "upload.json");
    if (!/^[0-9a-f-]{36}$/.test(id) || !existsSync(file)) throw noSuchUpload();
    const upload = JSON.parse(readFileSync(file, "utf8")) as Upload;
    if (upload.bucket !== bucket || upload.key !== key) throw noSuchUpload();
    return upload;
  }

  addPart(id: string, number: number, staged: Staged): void {
    if (!Number.isInteger(number) || number < 1 || number > PARTS_MAX)
      throw invalid(`partNumber must be from 1 to ${PARTS_MAX}.`);
    const { size, etag, crc32 } = staged;
    const modifiedMs = Date.now();
    seal(staged, { key: String(number), size, etag, crc32, modifiedMs, contentType: "", headers: {} });
    renameSync(staged.path, join(this.folder, id, `part-${number}`));
  }

  /** Parts received so far, by number. */
  parts(id: string): ObjectInfo[] {
    return readdirSync(join(this.folder, id))
      .filter((name) => name.startsWith("part-"))
      .map((name) => readInfo(join(this.folder, id, name)))
      .sort((a, b) => Number(a.key) - Number(b.key));
  }

  /** Uploads in progress below a prefix, in the order of their keys, each as long as it has been going on. */
  list(bucket: string, prefix: string): { id: string; key: string; startedMs: number }[] {
    return readdirSync(this.folder)
      .map((id) => {
        const file = join(this.folder, id, "upload.json");
        return {
          id,
          startedMs: statSync(file).mtimeMs,
          upload: JSON.parse(readFileSync(file, "utf8")) as Upload,
        };
      })
      .filter(({ upload }) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .map(({ id, startedMs, upload }) => ({ id, startedMs, key: upload.key }))
      .sort((a, b) => compareKeys(a.key, b.key) || compareKeys(a.id, b.id));
  }

  /**
   * The named parts, and the tag of the whole as S3 computes it.
   * @throws S3Error 400 when a part is missing, another one, too small or out of order.
   */
  choose(id: string, named: NamedPart[]): { parts: PartFile[]; etag: string } {
    const received = new Map(this.parts(id).map((part) => [Number(part.key), part]));
    const hash = createHash("md5");
    const parts: PartFile[] = [];
    for (const [i, { number, etag }] of named.entries()) {
      const part = received.get(number);
      if (part?.etag !== etag)
        throw new S3Error(400, "InvalidPart", `Part ${number} was not received with this ETag.`);
      if (i > 0 && number <= (named[i - 1]?.number ?? 0))
        throw new S3Error(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
      if (i < named.length - 1 && part.size < PART_MIN_BYTES)
        throw new S3Error(400, "EntityTooSmall", "A part is smaller than the minimum allowed size.");
      hash.update(Buffer.from(etag, "hex"));
      parts.push({ name: `part-${number}`, size: part.size });
    }
    if (parts.length === 0) throw invalid("At least one part must be named.");
    return { parts, etag: `${hash.digest("hex")}-${parts.length}` };
  }

  /** Hands the folder of the parts over to `folder`: the upload has ended. */
  release(id: string, folder: string): void {
    renameSync(join(this.folder, id), folder);
  }

  remove(id: string): void {
    rmSync(join(this.folder, id), { recursive: true, force: true });
  }
}
