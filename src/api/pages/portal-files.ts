import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { builtFolder } from "../../platform/built-files.ts";
import type { ContentType } from "../reply/reply.ts";
import { readIfThere, type StaticFile, staticFile } from "./static-file.ts";

/** The files of the portal, read once. */
export interface PortalFiles {
  /** The page that all addresses of the portal show; null: the portal was not built. */
  page: StaticFile | null;
  /** Files by name. Each name changes with its content. */
  assets: ReadonlyMap<string, StaticFile>;
}

const CONTENT_TYPES: Readonly<Record<string, ContentType>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page, made to look for its files below `basePath`. */
async function readPage(folder: string, basePath: string): Promise<StaticFile | null> {
  const built = await readIfThere(join(folder, "index.html"));
  if (built === null) return null;
  const html = built
    .toString()
    .replaceAll('"./assets/', `"${basePath}/assets/`)
    .replace('name="rcpt-base" content=""', `name="rcpt-base" content="${basePath}"`);
  const bytes = Buffer.from(html);
  return staticFile(bytes, brotliCompressSync(bytes), "text/html; charset=utf-8");
}

async function readAssets(folder: string): Promise<Map<string, StaticFile>> {
  const assets = new Map<string, StaticFile>();
  for (const name of await readdir(folder)) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType === undefined) continue;
    const path = join(folder, name);
    assets.set(name, staticFile(await readFile(path), await readIfThere(`${path}.br`), contentType));
  }
  return assets;
}

/**
 * Reads the files that `npm run build` made from `portal/`.
 * @param basePath path of the portal's public URL, without a slash at its end; "": none
 */
export async function loadPortalFiles(
  basePath: string,
  folder: string = builtFolder("portal"),
): Promise<PortalFiles> {
  const page = await readPage(folder, basePath);
  return { page, assets: page === null ? new Map() : await readAssets(join(folder, "assets")) };
}
