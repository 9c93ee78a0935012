import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** The portal's files as they are served. */
const site = usePortalSite();

const page = async (path: string, headers: Record<string, string> = {}) =>
  fetch(site.url + path, { headers });

describe("the portal's page", () => {
  it("is the same at each of its addresses, and names its files below the path that it is served at", async () => {
    const html = await (await page("/")).text();
    assert.match(html, /<script type="module" crossorigin src="\/base\/assets\/index-[\w-]+\.js">/);
    for (const path of PORTAL_PATHS) {
      const answer = await page(path);
      assert.equal(answer.status, 200, path);
      assert.equal(await answer.text(), html, path);
    }
    assert.equal((await page("/nowhere")).status, 404);
  });

  it("runs nothing but its own files, and is shown in no frame", async () => {
    const { headers } = await page("/sign-in");
    const policy = headers.get("content-security-policy") ?? "";
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ])
      assert.ok(policy.split("; ").includes(part), part);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.deepEqual(
      ["x-content-type-options", "referrer-policy", "cache-control"].map((name) => headers.get(name)),
      ["nosniff", "no-referrer", "no-cache"],
    );
  });

  it("asks no other host", async () => {
    const html = await (await page("/")).text();
    assert.doesNotMatch(html, /https?:\/\//);
  });

  it("is not sent again to who has it", async () => {
    const etag = (await page("/")).headers.get("etag") ?? "";
    assert.equal((await page("/", { "If-None-Match": etag })).status, 304);
    assert.equal((await page("/", { "If-None-Match": `W/${etag}` })).status, 304);
    assert.equal((await page("/", { "If-None-Match": '"other"' })).status, 200);
  });
});

describe("a file of the portal", () => {
  it("is kept for ever, and compressed for who takes that", async () => {
    const name = /assets\/index-[\w-]+\.js/.exec(await (await page("/")).text())?.[0] ?? "";
    const plain = await page(`/${name}`, { "Accept-Encoding": "identity" });
    assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(plain.headers.get("content-encoding"), null);
    const compressed = await page(`/${name}`, { "Accept-Encoding": "gzip, br" });
    assert.equal(compressed.headers.get("content-encoding"), "br");
    assert.equal(await compressed.text(), await plain.text());
  });

  it("is found by its whole name alone", async () => {
    for (const name of ["..%2findex.html", "index.js", "%00", "constructor"])
      assert.equal((await page(`/assets/${name}`)).status, 404, name);
  });
});
