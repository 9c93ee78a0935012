import * as v from "valibot";
import type { Uploads } from "../../features/uploads/uploads.ts";
import { AppError } from "../../platform/errors.ts";
import { loadPortalFiles, type PortalFiles } from "../pages/portal-files.ts";
import { PORTAL_PATHS, portalPolicy } from "../pages/portal-page.ts";
import { A_YEAR, basePathOf, fileReply } from "../pages/static-file.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";

export interface PortalRouteDeps {
  /** The address of the service for its users, perhaps with a path; null: whatever they use. */
  publicUrl: string | null;
  uploads: Pick<Uploads, "origin">;
}

/** The portal: its page at each of its addresses, and the files that the page asks for. Read from disk once, when first asked for. */
export function createPortalRoutes({ publicUrl, uploads }: PortalRouteDeps): PublicRoute[] {
  const basePath = basePathOf(publicUrl);
  const pageFields = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
  };
  let loading: Promise<PortalFiles> | null = null;
  function files(): Promise<PortalFiles> {
    loading ??= loadPortalFiles(basePath).catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  }

  const pageRoute = (path: string, i: number) =>
    publicRoute({
      method: "GET",
      path,
      operationId: `getPortalPage${i}`,
      summary: "The portal",
      tag: "operations",
      internal: true,
      rate: "client",
      errors: ["not_found"],
      query: "ignored",
      readsHeaders: ["accept-encoding", "if-none-match"],
      success: { status: 200, description: "The page", schema: v.string() },
      async handler(_input, context) {
        const { page } = await files();
        if (page === null) throw new AppError("not_found", "The portal was not built: see `npm run build`.");
        const policy = portalPolicy(await uploads.origin());
        return fileReply(page, context, { ...pageFields, "Content-Security-Policy": policy });
      },
    });

  const assetRoute = publicRoute({
    method: "GET",
    path: "/assets/{file}",
    operationId: "getPortalFile",
    summary: "A file of the portal",
    tag: "operations",
    internal: true,
    rate: "client",
    errors: ["not_found"],
    params: v.strictObject({ file: v.string() }),
    query: "ignored",
    readsHeaders: ["accept-encoding", "if-none-match"],
    success: { status: 200, description: "The file", schema: v.string() },
    async handler({ params }, context) {
      const file = (await files()).assets.get(params.file);
      if (file === undefined) throw new AppError("not_found", "There is nothing at this path.");
      return fileReply(file, context, { "Cache-Control": A_YEAR });
    },
  });
  return [...PORTAL_PATHS.map(pageRoute), assetRoute];
}
