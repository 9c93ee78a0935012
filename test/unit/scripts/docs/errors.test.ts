import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { renderErrors } from "../../../../scripts/docs/errors.ts";
import { ERRORS } from "../../../../src/platform/errors.ts";
import { JOB_ERROR_CODES } from "../../../../src/platform/job-errors.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/errors.md"), "utf8");

describe("docs/errors.md", () => {
  it("is what `npm run docs` writes", () => {
    assert.equal(page, renderErrors(), "run `npm run docs`");
  });

  it("has each code of requests with its status, and each of jobs", () => {
    const [requests = "", jobs = ""] = page.split("## Why a job failed");
    for (const [code, { status }] of Object.entries(ERRORS))
      assert.ok(requests.includes(`| ${status} | \`${code}\` |`) || status === 422, code);
    for (const code of JOB_ERROR_CODES) assert.ok(jobs.includes(`| \`${code}\` |`), code);
  });

  it("says of each what it means in a sentence", () => {
    const texts = [...page.matchAll(/`[a-z_0-9]+` \| (.*) \|$/gm)].map(([, text = ""]) => text);
    assert.ok(texts.length > 60);
    for (const text of texts) assert.match(text, /^[A-Z].{10,}\.$/);
  });
});
