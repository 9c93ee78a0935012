import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { builtFolder } from "../../platform/built-files.ts";
import type { ContentType } from "../reply/reply.ts";

/** A file of the portal, as it is sent. */
export interface PortalFile {
  bytes: Buffer;
  /** The same, compressed by brotli; null: it would not be smaller. */
  brotli: Buffer | null;
  contentType: ContentType;
  /** With its quotes. */
  etag: string;
}

/** What the portal is made of, read once. */
export interface PortalFiles {
  /** The page that all addresses of the portal show; null: the portal was not built. */
  page: PortalFile | null;
  /** By name. Each name changes with its content. */
  assets: ReadonlyMap<string, PortalFile>;
}

const CONTENT_TYPES: Readonly<Record<string, ContentType>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}

function portalFile(bytes: Buffer, brotli: Buffer | null, contentType: ContentType): PortalFile {
  const hash = createHash("sha256").update(bytes).digest("base64url");
  return { bytes, brotli, contentType, etag: `"${hash.slice(0, 22)}"` };
}

/** The page, made to look for its files below `basePath`. */
async function readPage(folder: string, basePath: string): Promise<PortalFile | null> {
  const built = await readIfThere(join(folder, "index.html"));
  if (built === null) return null;
  const html = built
    .toString()
    .replaceAll('"./assets/', `"${basePath}/assets/`)
    .replace('name="rcpt-base" content=""', `name="rcpt-base" content="${basePath}"`);
  const bytes = Buffer.from(html);
  return portalFile(bytes, brotliCompressSync(bytes), "text/html; charset=utf-8");
}

async function readAssets(folder: string): Promise<Map<string, PortalFile>> {
  const assets = new Map<string, PortalFile>();
  for (const name of await readdir(folder)) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType === undefined) continue;
    const path = join(folder, name);
    assets.set(name, portalFile(await readFile(path), await readIfThere(`${path}.br`), contentType));
  }
  return assets;
}

/**
 * Reads what `npm run build` made of `portal/`.
 * @param basePath of the address that the portal is served at, without a slash at its end; "": none
 */
export async function loadPortalFiles(
  basePath: string,
  folder: string = builtFolder("portal"),
): Promise<PortalFiles> {
  const page = await readPage(folder, basePath);
  return { page, assets: page === null ? new Map() : await readAssets(join(folder, "assets")) };
}
