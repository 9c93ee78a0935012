import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";

const ROOT = resolve(import.meta.dirname, "../../../..");

/** Lines of production code that import a module whose name has `part`. */
function importsOf(part: string): { file: string; line: string }[] {
  return ["src", "workers"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) =>
        readFileSync(join(ROOT, folder, file), "utf8")
          .split("\n")
          .filter((line) => /\bimport\b|\bfrom "/.test(line) && line.includes(part))
          .map((line) => ({ file: `${folder}/${file}`, line: line.trim() })),
      ),
  );
}

describe("OpenTelemetry's packages", () => {
  it("are known to one module", () => {
    const files = new Set(importsOf("@opentelemetry/").map(({ file }) => file));
    assert.deepEqual([...files], ["src/platform/telemetry/otel.ts"]);
  });

  it("are read when traces are configured, by one line that comes behind that question", () => {
    const importers = importsOf("/otel.ts");
    assert.deepEqual(
      importers.map(({ file }) => file),
      ["src/app/tracing.ts"],
    );
    assert.match(importers[0]?.line ?? "", /await import\(/);
  });
});
