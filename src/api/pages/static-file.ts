import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type ContentType, HttpReply } from "../reply/reply.ts";
import type { Context } from "../routing/route.ts";

/** A file of the portal or of the documents, as it is sent. */
export interface StaticFile {
  bytes: Buffer;
  /** The same, compressed by brotli; null: it would not be smaller. */
  brotli: Buffer | null;
  contentType: ContentType;
  /** Entity tag with its quotes. */
  etag: string;
}

/** For files whose name changes with their content. */
export const A_YEAR = "public, max-age=31536000, immutable";

/** Path of the service's public URL, without a slash at its end; "": none. */
export const basePathOf = (publicUrl: string | null): string =>
  publicUrl === null ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");

export function staticFile(bytes: Buffer, brotli: Buffer | null, contentType: ContentType): StaticFile {
  const hash = createHash("sha256").update(bytes).digest("base64url");
  return { bytes, brotli, contentType, etag: `"${hash.slice(0, 22)}"` };
}

/** @returns null when the file does not exist */
export async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}

/** The file as the request can take it, or that it has not changed. */
export function fileReply(
  file: StaticFile,
  { headers }: Context,
  fields: Readonly<Record<string, string>>,
): HttpReply {
  const { brotli, contentType } = file;
  const accepted = headers["accept-encoding"] ?? "";
  const isCompressed = brotli !== null && /\bbr\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(accepted);
  const etag = isCompressed ? file.etag.replace(/"$/, '-br"') : file.etag;
  const own = { ...fields, ETag: etag, Vary: "Accept-Encoding" };
  // Proxies that change the coding make the tag a weak one.
  if (headers["if-none-match"]?.replace(/^W\//, "") === etag)
    return new HttpReply(304, null, { headers: own });
  return new HttpReply(200, isCompressed ? brotli : file.bytes, {
    contentType,
    headers: isCompressed ? { ...own, "Content-Encoding": "br" } : own,
  });
}
