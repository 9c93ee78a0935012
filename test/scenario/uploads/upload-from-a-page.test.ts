import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { usePortalSite } from "../../support/portal-site.ts";

/** A page of the portal sends a file to object storage, which has another origin, and goes on where it was interrupted. */
const PART_BYTES = 5_242_880;
const site = usePortalSite();
const browser = useBrowser();

interface Part {
  part_number: number;
  first_byte: number;
  bytes: number;
  sent?: boolean;
  url: string | null;
}

/** As a script of the page would send it. @returns the status that the page reads */
const sendFromPage = (page: Page, { url, bytes }: Part) =>
  page.evaluate(
    async ([to, size]) => {
      const body = new Blob([new Uint8Array(size).fill(0x61)], { type: "text/csv" });
      return (await fetch(to, { method: "PUT", body })).status;
    },
    [url ?? "", bytes] as const,
  );

describe("a page that sends a file in parts", () => {
  it("is let by the policy of the portal and the rule of the bucket, and may read a refusal", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session: key } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in`);
    const made = await site.api.send<{ id: string; parts: Part[] }>("POST", "/v1/uploads", {
      key,
      body: { filename: "list.csv", bytes: PART_BYTES + 10, part_bytes: PART_BYTES },
    });
    const path = `/v1/uploads/${made.body.id}`;
    const [, last = assert.fail("there is one part")] = made.body.parts;
    assert.equal(await sendFromPage(page, last), 200);
    await page.reload();
    const listed = await site.api.send<{ data: Part[] }>("GET", `${path}/parts`, { key });
    const [first = assert.fail("no parts"), sent] = listed.body.data;
    assert.deepEqual([first.sent, sent?.sent, sent?.url], [false, true, null]);
    assert.equal(await sendFromPage(page, { ...first, bytes: 10 }), 403);
    assert.equal(await sendFromPage(page, first), 200);
    const completed = await site.api.send<{ status: string }>("POST", `${path}/complete`, { key });
    assert.deepEqual([completed.status, completed.body.status], [200, "stored"]);
  });

  it("is not let send anything anywhere else", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { headers } = await fetch(`${site.url}/`);
    const policy = headers.get("content-security-policy") ?? "";
    const { origin } = new URL(site.deployment.settings.S3_ENDPOINT ?? "");
    assert.ok(policy.split("; ").includes(`connect-src 'self' ${origin}`), policy);
  });
});
