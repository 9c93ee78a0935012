import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { recordListTimestamps } from "../../../../src/app/checks/list-timestamps.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { LIST_RELEASES } from "../../../../src/verification/lists/releases.ts";

describe("releases of the lists", () => {
  it("are those that are pinned: a list whose version is changed by hand would say the wrong age", () => {
    const { dependencies } = JSON.parse(
      readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"),
    ) as { dependencies: Record<string, string> };
    for (const [name, { version, asOf }] of Object.entries(LIST_RELEASES)) {
      assert.equal(dependencies[name], version, `${name}: run npm run lists -- --refresh`);
      assert.match(asOf, /^20\d\d-\d\d-\d\d$/);
      assert.ok(Date.parse(asOf) <= Date.now(), `${name} is of the future`);
    }
  });

  it("are shown by a metric, list by list", async () => {
    const metrics = createMetrics();
    recordListTimestamps(metrics);
    const text = await metrics.registry.getSingleMetricAsString("rcpt_list_timestamp_seconds");
    const shown = Object.fromEntries(
      [...text.matchAll(/\{list="([^"]+)"\} (\d+)/g)].map(([, list = "", seconds]) => [
        list,
        Number(seconds),
      ]),
    );
    const told = Object.entries(LIST_RELEASES).map(([list, { asOf }]) => [list, Date.parse(asOf) / 1_000]);
    assert.deepEqual(shown, Object.fromEntries(told));
  });
});
