import { errorOf } from "../http/errors.ts";
import { fetchOnce } from "../http/transport.ts";
import type { ReadableFile } from "./readable-file.ts";

/** A list: a path, a Blob or File, bytes that come, or where to get them (`http:`, `https:`, `file:`, `blob:`). */
export type ListSource = string | Blob | ReadableStream<Uint8Array> | URL;

/** Bytes that come once, of unknown number. */
interface IncomingFile {
  name: string;
  stream: ReadableStream<Uint8Array>;
}

const NAMELESS = "list.csv";

const nameOf = (url: URL) => decodeURIComponent(url.pathname.split("/").pop() ?? "") || NAMELESS;

function readableBlob(blob: Blob): ReadableFile {
  const { name } = blob as Blob & { name?: unknown };
  return {
    name: typeof name === "string" && name !== "" ? name : NAMELESS,
    bytes: blob.size,
    read: async (firstByte, bytes) => blob.slice(firstByte, firstByte + bytes),
    close: async () => undefined,
  };
}

async function openPath(path: string | URL): Promise<ReadableFile> {
  const { openDiskFile } = await import("./disk-file.ts");
  return openDiskFile(path);
}

async function openUrl(
  url: URL,
  fetching: typeof fetch,
  signal: AbortSignal,
): Promise<ReadableFile | IncomingFile> {
  if (url.protocol === "file:") return openPath(url);
  const response = await fetchOnce(fetching, url.href, { signal });
  if (!response.ok) throw await errorOf(response);
  if (url.protocol === "blob:") return readableBlob(await response.blob());
  return { name: nameOf(url), stream: response.body as ReadableStream<Uint8Array> };
}

/** @throws Error of the disk; RcptError of the URL */
export async function openSource(
  source: ListSource,
  fetching: typeof fetch,
  signal: AbortSignal,
): Promise<ReadableFile | IncomingFile> {
  if (typeof source === "string") return openPath(source);
  if (source instanceof URL) return openUrl(source, fetching, signal);
  return source instanceof Blob ? readableBlob(source) : { name: NAMELESS, stream: source };
}
