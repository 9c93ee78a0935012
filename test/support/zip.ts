import { crc32, deflateRawSync } from "node:zlib";

/** A part of an archive; absent fields get their correct values. */
export interface ZipPart {
  name: string;
  content: Buffer | string;
  /** 0: stored, 8: deflated. */
  method?: number;
  /** General purpose bits: 1 says that it is encrypted. */
  flags?: number;
  /** False values for the directory's entry. */
  claims?: { uncompressedSize?: number; crc?: number };
}

function header(signature: number, fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const buffer = Buffer.alloc(4 + fields.reduce((sum, [bytes]) => sum + bytes, 0));
  buffer.writeUInt32LE(signature, 0);
  let at = 4;
  for (const [bytes, value] of fields) {
    buffer.writeUIntLE(value, at, bytes);
    at += bytes;
  }
  return buffer;
}

/** A ZIP archive (APPNOTE.TXT 4.3), for tests. */
export function zipOf(parts: readonly ZipPart[], comment = ""): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, method = 8, flags = 0x800, claims = {} } of parts) {
    const bytes = Buffer.from(content);
    const data = method === 8 ? deflateRawSync(bytes) : bytes;
    const { uncompressedSize = bytes.length, crc = crc32(bytes) } = claims;
    const common = [
      [2, flags],
      [2, method],
      [4, 0],
      [4, crc],
      [4, data.length],
      [4, uncompressedSize],
      [2, Buffer.byteLength(name)],
      [2, 0],
    ] as const;
    const file = Buffer.concat([header(0x04034b50, [[2, 20], ...common]), Buffer.from(name), data]);
    const entry = [[2, 20], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]] as const;
    directory.push(header(0x02014b50, entry), Buffer.from(name));
    files.push(file);
    offset += file.length;
  }
  const entries = Buffer.concat(directory);
  const end = header(0x06054b50, [
    [2, 0],
    [2, 0],
    [2, parts.length],
    [2, parts.length],
    [4, entries.length],
    [4, offset],
    [2, comment.length],
  ]);
  return Buffer.concat([...files, entries, end, Buffer.from(comment)]);
}
