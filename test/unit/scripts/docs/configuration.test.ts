import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { renderConfiguration } from "../../../../scripts/docs/configuration.ts";
import { SECTIONS } from "../../../../scripts/docs/setting-descriptions.ts";
import { SETTING_NAMES } from "../../../../src/config/config.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const page = readFileSync(join(ROOT, "docs/configuration.md"), "utf8");

/** The cells of a setting's row. */
function rowOf(name: string): string[] {
  const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? assert.fail(name);
  return row.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, ""));
}

describe("docs/configuration.md", () => {
  it("is what `npm run docs` writes", () => {
    assert.equal(page, renderConfiguration(), "run `npm run docs`");
  });

  it("has every setting once, and no other", () => {
    const rows = [...page.matchAll(/^\| `([A-Z][A-Z0-9_]+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(rows.sort(), [...SETTING_NAMES].sort());
  });

  it("says what the schema says", () => {
    assert.deepEqual(rowOf("PORT").slice(0, 5), ["`PORT`", "whole number", "`8080`", "0 – 65,535", "api"]);
    assert.deepEqual(rowOf("ROLE").slice(1, 3), ["`api`, `bulk`, `relay`, `all`", "`all`"]);
    assert.equal(rowOf("DATABASE_URL")[2], "required");
    assert.equal(rowOf("TRUSTED_PROXIES")[3], "at most 64 items");
    assert.deepEqual(rowOf("PROBE_PRIVATE_ADDRESSES").slice(1, 3), ["`true` or `false`", "`false`"]);
  });

  it("describes each setting in sentences", () => {
    for (const settings of Object.values(SECTIONS))
      for (const [name, { does }] of Object.entries(settings))
        assert.match(does, /^[A-Z`].{10,}\.\)?$/, name);
  });
});
