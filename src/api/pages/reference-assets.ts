import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ContentType } from "../reply/reply.ts";

/** The files of the reference page at `/docs/reference`. This process serves all of them: no file refers to another host. */
export interface ReferenceAssets {
  html: string;
  /** Changes whenever a file does: files may be cached for ever under it. */
  version: string;
  /** Files by name. */
  files: ReadonlyMap<string, { bytes: Buffer; contentType: ContentType }>;
}

/** Three of the package's files are used: 1.9 of 12 MB. */
const PACKAGE = "swagger-ui-dist";
const PACKAGED: Readonly<Record<string, ContentType>> = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

/** Addresses are relative to the page's, so that it also works behind a proxy that serves us under a path of its own. */
const START = `window.addEventListener("load", () => {
  window.SwaggerUIBundle({
    url: "../openapi.json",
    dom_id: "#reference",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    displayRequestDuration: true,
    // By default a badge is loaded from the maker's host.
    validatorUrl: null,
  });
});
`;

function page(version: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rcpt API reference</title>
<link rel="icon" type="image/png" href="${version}/favicon-32x32.png">
<link rel="stylesheet" href="${version}/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>The reference needs JavaScript; <a href="../openapi.json">the OpenAPI document</a> does not.</noscript>
<script src="${version}/swagger-ui-bundle.js"></script>
<script src="${version}/start.js"></script>
</body>
</html>
`;
}

/** Reads the files from the installed package. */
export async function loadReferenceAssets(): Promise<ReferenceAssets> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
  const files = new Map<string, { bytes: Buffer; contentType: ContentType }>();
  for (const [name, contentType] of Object.entries(PACKAGED))
    files.set(name, { bytes: await readFile(join(folder, name)), contentType });
  files.set("start.js", { bytes: Buffer.from(START), contentType: "text/javascript; charset=utf-8" });
  const hash = createHash("sha256");
  for (const { bytes } of files.values()) hash.update(bytes);
  const version = hash.digest("hex").slice(0, 16);
  return { html: page(version), version, files };
}
