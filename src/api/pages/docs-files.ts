import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { builtFolder } from "../../platform/built-files.ts";
import type { ContentType } from "../reply/reply.ts";
import { readIfThere, type StaticFile, staticFile } from "./static-file.ts";

/** The documents as pages (scripts/docs-site), by their path below `/docs`: `api`, `decisions/dns`, `assets/docs.css`; "" is the index. */
export type DocsFiles = ReadonlyMap<string, StaticFile>;

const compress = promisify(brotliCompress);
/** Pages are compressed while a request waits: this takes a tenth of the time of the best quality and 10 % more bytes. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const CONTENT_TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
} as const satisfies Record<string, ContentType>;

/** A page whose links lead below `basePath`; as it was built where `basePath` is empty. */
async function readPage(path: string, basePath: string): Promise<StaticFile> {
  const built = await readFile(path);
  if (basePath === "") return staticFile(built, await readIfThere(`${path}.br`), CONTENT_TYPES[".html"]);
  const html = built
    .toString()
    .replace('data-base=""', `data-base="${basePath}"`)
    .replaceAll(/ (href|src)="\//g, ` $1="${basePath}/`);
  return staticFile(Buffer.from(html), await compress(html, QUALITY), CONTENT_TYPES[".html"]);
}

/** `decisions.html` → `decisions`; `index.html` → "". */
function pathOf(file: string): string {
  const path = file.split(/[\\/]/).join("/");
  return path === "index.html" ? "" : join(dirname(path), basename(path, ".html"));
}

/**
 * Reads the pages that `npm run build` made from `docs/`.
 * @param basePath path of the service's public URL, without a slash at its end; "": none
 * @returns an empty map when they were not built
 */
export async function loadDocsFiles(
  basePath: string,
  folder: string = builtFolder("docs"),
): Promise<DocsFiles> {
  const files = new Map<string, StaticFile>();
  if ((await readIfThere(join(folder, "index.html"))) === null) return files;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const contentType = CONTENT_TYPES[extname(entry.name) as keyof typeof CONTENT_TYPES];
    if (!entry.isFile() || contentType === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const file =
      extname(path) === ".html"
        ? await readPage(path, basePath)
        : staticFile(await readFile(path), await readIfThere(`${path}.br`), contentType);
    files.set(pathOf(relative(folder, path)), file);
  }
  return files;
}
