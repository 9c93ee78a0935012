import * as v from "valibot";
import { AppError } from "../../platform/errors.ts";
import { type DocsAssets, loadDocsAssets } from "../pages/docs-assets.ts";
import { HttpReply } from "../reply/reply.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";

/**
 * Nothing is loaded from, or sent to, another origin, whatever the page's scripts or the description say. Styles may be
 * inline: the page's scripts set them on what they make.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SECURITY_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Referrer-Policy": "no-referrer",
};
const A_YEAR = "public, max-age=31536000, immutable";

/** The reference page and its files, read from disk once, when first asked for. */
export function createDocsRoutes(): PublicRoute[] {
  let loading: Promise<DocsAssets> | null = null;
  function assets(): Promise<DocsAssets> {
    loading ??= loadDocsAssets().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  }

  const pageRoute = publicRoute({
    method: "GET",
    path: "/docs",
    operationId: "getDocs",
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
        headers: { ...SECURITY_HEADERS, "Cache-Control": "no-cache" },
      });
    },
  });

  const fileRoute = publicRoute({
    method: "GET",
    path: "/docs/{version}/{file}",
    operationId: "getDocsFile",
    summary: "A file of the reference page",
    tag: "operations",
    internal: true,
    rate: "client",
    errors: ["not_found"],
    params: v.strictObject({ version: v.string(), file: v.string() }),
    query: "ignored",
    success: { status: 200, description: "The file", schema: v.string() },
    async handler({ params }) {
      const { version, files } = await assets();
      const file = params.version === version ? files.get(params.file) : undefined;
      if (file === undefined) throw new AppError("not_found", "There is nothing at this path.");
      return new HttpReply(200, file.bytes, {
        contentType: file.contentType,
        headers: { ...SECURITY_HEADERS, "Cache-Control": A_YEAR },
      });
    },
  });
  return [pageRoute, fileRoute];
}
