import * as v from "valibot";
import { AppError } from "../../platform/errors.ts";
import { type DocsFiles, loadDocsFiles } from "../pages/docs-files.ts";
import { loadReferenceAssets, type ReferenceAssets } from "../pages/reference-assets.ts";
import { A_YEAR, basePathOf, fileReply } from "../pages/static-file.ts";
import { HttpReply } from "../reply/reply.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";

/** Nothing is loaded from, or sent to, another origin, whatever a page's scripts or the description say. */
const policyWith = (...styles: string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${["'self'", ...styles].join(" ")}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const DOCS_HEADERS = {
  "Content-Security-Policy": policyWith(),
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-cache",
};
/** Inline styles are allowed, since the scripts of the reference set them on their elements. */
const REFERENCE_HEADERS = {
  "Content-Security-Policy": policyWith("'unsafe-inline'"),
  "Referrer-Policy": "no-referrer",
};

/** Loads once, when first asked for; what failed is tried again. */
function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

const notFound = () => new AppError("not_found", "There is nothing at this path.");

/** The page of the reference, and where its files are. */
function referenceRoute(assets: () => Promise<ReferenceAssets>): PublicRoute {
  return publicRoute({
    method: "GET",
    path: "/docs/reference",
    operationId: "getReference",
    summary: "This description, as a page",
    tag: "operations",
    rate: "client",
    errors: [],
    query: "ignored",
    success: {
      status: 200,
      description: "A page that needs no other host",
      contentType: "text/html; charset=utf-8",
      schema: v.string(),
    },
    async handler() {
      const { html } = await assets();
      return new HttpReply(200, html, {
        contentType: "text/html; charset=utf-8",
        headers: { ...REFERENCE_HEADERS, "Cache-Control": "no-cache" },
      });
    },
  });
}

/** The index of the documents, and each of their pages. */
function pageRoutes(files: () => Promise<DocsFiles>): PublicRoute[] {
  const readsHeaders = ["accept-encoding", "if-none-match"] as const;
  const index = publicRoute({
    method: "GET",
    path: "/docs",
    operationId: "getDocs",
    summary: "The documents, as pages with a search",
    tag: "operations",
    rate: "client",
    errors: ["not_found"],
    query: "ignored",
    readsHeaders,
    success: {
      status: 200,
      description: "The index, whose pages need no other host",
      contentType: "text/html; charset=utf-8",
      schema: v.string(),
    },
    async handler(_input, context) {
      const page = (await files()).get("");
      if (page === undefined)
        throw new AppError(
          "not_found",
          "The documents were not built: see `npm run build`. /docs/reference is there.",
        );
      return fileReply(page, context, DOCS_HEADERS);
    },
  });
  const page = publicRoute({
    method: "GET",
    path: "/docs/{page}",
    operationId: "getDocsPage",
    summary: "A page of the documents",
    tag: "operations",
    internal: true,
    rate: "client",
    errors: ["not_found"],
    params: v.strictObject({ page: v.string() }),
    query: "ignored",
    readsHeaders,
    success: { status: 200, description: "The page", schema: v.string() },
    async handler({ params }, context) {
      const file = (await files()).get(params.page);
      if (file === undefined) throw notFound();
      return fileReply(file, context, DOCS_HEADERS);
    },
  });
  return [index, page];
}

/** The documents and the reference of the API, read from disk once, when first asked for. */
export function createDocsRoutes({ publicUrl }: { publicUrl: string | null }): PublicRoute[] {
  const assets = lazily(loadReferenceAssets);
  const files = lazily(() => loadDocsFiles(basePathOf(publicUrl)));

  const fileRoute = publicRoute({
    method: "GET",
    path: "/docs/{folder}/{file}",
    operationId: "getDocsFile",
    summary: "A file of the documents or of the reference",
    tag: "operations",
    internal: true,
    rate: "client",
    errors: ["not_found"],
    params: v.strictObject({ folder: v.string(), file: v.string() }),
    query: "ignored",
    readsHeaders: ["accept-encoding", "if-none-match"],
    success: { status: 200, description: "The file", schema: v.string() },
    async handler({ params: { folder, file } }, context) {
      const { version, files: ofReference } = await assets();
      if (folder === version) {
        const found = ofReference.get(file);
        if (found === undefined) throw notFound();
        const headers = { ...REFERENCE_HEADERS, "Cache-Control": A_YEAR };
        return new HttpReply(200, found.bytes, { contentType: found.contentType, headers });
      }
      const found = (await files()).get(`${folder}/${file}`);
      if (found === undefined) throw notFound();
      return fileReply(found, context, DOCS_HEADERS);
    },
  });
  return [...pageRoutes(files), referenceRoute(assets), fileRoute];
}
