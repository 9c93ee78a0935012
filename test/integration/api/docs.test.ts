import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { createDocsRoutes } from "../../../src/api/routes/docs.ts";
import { type Harness, startServer } from "./harness.ts";

let server: Harness;
let base: string;
before(async () => {
  server = await startServer({ extraRoutes: createDocsRoutes({ publicUrl: null }) });
  base = `http://127.0.0.1:${server.port}`;
});
after(() => server.close());

/** URLs that a browser fetches for a page: the values of src and href, resolved against the page. */
function fetchedBy(html: string): URL[] {
  const values = [...html.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, value]) => value ?? "");
  return values.map((value) => new URL(value, `${base}/docs/reference`));
}

/** Values of the policy's directives by name. */
function policyOf(response: Response): Map<string, string[]> {
  const directives = (response.headers.get("content-security-policy") ?? "").split(";");
  return new Map(
    directives.map((text) => text.trim().split(" ")).map(([name = "", ...rest]) => [name, rest]),
  );
}

describe("the reference page", () => {
  it("and everything it loads comes from here, with the right type", async () => {
    const page = await fetch(`${base}/docs/reference`);
    assert.equal(page.status, 200);
    assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(page.headers.get("cache-control"), "no-cache");
    const html = await page.text();
    assert.doesNotMatch(html, /https?:|\/\/[a-z]/i);
    const urls = fetchedBy(html);
    assert.equal(urls.length, 5);
    const types: Record<string, string> = {
      js: "text/javascript; charset=utf-8",
      css: "text/css; charset=utf-8",
      png: "image/png",
      json: "application/json",
    };
    for (const url of urls) {
      assert.equal(url.origin, base);
      const response = await fetch(url);
      const name = url.pathname.split("/").at(-1) ?? "";
      assert.equal(response.status, 200, name);
      assert.equal(response.headers.get("content-type"), types[name.split(".").at(-1) ?? ""], name);
      assert.equal(response.headers.get("x-content-type-options"), "nosniff");
      assert.ok((await response.arrayBuffer()).byteLength > 100, name);
      if (name !== "openapi.json")
        assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
    }
  });

  it("may load and send nothing elsewhere, on any of its files", async () => {
    const page = await fetch(`${base}/docs/reference`);
    const files = fetchedBy(await page.text()).filter((url) => url.pathname.startsWith("/docs/"));
    for (const response of [page, ...(await Promise.all(files.map((url) => fetch(url))))]) {
      const policy = policyOf(response);
      assert.deepEqual(policy.get("default-src"), ["'none'"]);
      assert.deepEqual(policy.get("script-src"), ["'self'"]);
      assert.deepEqual(policy.get("connect-src"), ["'self'"]);
      for (const name of ["base-uri", "form-action", "frame-ancestors"])
        assert.deepEqual(policy.get(name), ["'none'"], name);
      const sources = new Set([...policy.values()].flat());
      for (const source of sources)
        assert.ok(["'none'", "'self'", "'unsafe-inline'", "data:"].includes(source), source);
      if (!response.bodyUsed) await response.arrayBuffer();
    }
  });

  it("names no other origin in its own script, and in its styles none but the names of namespaces", async () => {
    const html = await (await fetch(`${base}/docs/reference`)).text();
    for (const url of fetchedBy(html)) {
      const text = await (await fetch(url)).text();
      if (url.pathname.endsWith("/start.js")) {
        assert.doesNotMatch(text, /https?:\/\//);
        assert.match(text, /validatorUrl: null/);
        assert.match(text, /url: "\.\.\/openapi.json"/);
      }
      if (!url.pathname.endsWith(".css")) continue;
      assert.doesNotMatch(text, /@import/);
      for (const [, target = ""] of text.matchAll(/url\(\s*["']?([^"')]{0,20})/g))
        assert.match(target, /^data:/);
    }
  });

  it("knows files by their version and name only", async () => {
    const html = await (await fetch(`${base}/docs/reference`)).text();
    const version = /"([0-9a-f]+)\//.exec(html)?.[1];
    for (const path of [
      `/docs/${version}/package.json`,
      `/docs/${version}/..%2fpackage.json`,
      `/docs/${version}/__proto__`,
      "/docs/0/start.js",
      "/docs/0/0/start.js",
    ])
      assert.equal((await fetch(base + path)).status, 404, path);
  });

  it("is sent as slowly as it is read, whole", async () => {
    const html = await (await fetch(`${base}/docs/reference`)).text();
    const path = fetchedBy(html).find((url) => url.pathname.endsWith("bundle.js"))?.pathname;
    const from = createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui-bundle.js");
    const expected = await readFile(from);
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const chunks: Buffer[] = [];
    let bodyBytes = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bodyBytes += chunk.length;
      // The reader yields between pieces, so that the connection's buffers fill.
      await new Promise((resolve) => setImmediate(resolve));
      if (bodyBytes >= expected.length) {
        const all = Buffer.concat(chunks);
        const headBytes = all.indexOf("\r\n\r\n") + 4;
        if (all.length - headBytes < expected.length) continue;
        assert.match(
          all.subarray(0, headBytes).toString(),
          new RegExp(`Content-Length: ${expected.length}\r\n`),
        );
        assert.ok(all.subarray(headBytes).equals(expected));
        break;
      }
    }
  });

  it("survives readers that leave in the middle", async () => {
    const html = await (await fetch(`${base}/docs/reference`)).text();
    const url = fetchedBy(html).find(({ pathname }) => pathname.endsWith("bundle.js"))?.href ?? "";
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const leaving = new AbortController();
        const response = await fetch(url, { signal: leaving.signal });
        await response.body?.getReader().read();
        leaving.abort();
      }),
    );
    const whole = await (await fetch(url)).arrayBuffer();
    assert.ok(whole.byteLength > 1_000_000);
  });
});
