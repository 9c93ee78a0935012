import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSiteQueues, queueCapacityOf } from "../../../src/egress/site-queues.ts";
import type { SitePolicy } from "../../../src/smtp/wire/policy.ts";

const POLICY: SitePolicy = {
  maxConnections: 2,
  transactionsPerSession: 100,
  rejectionsPerSession: 8,
  tls: "never",
  pipelineDepthMax: 10,
};

/** Number of `tries` that are admitted at `site`, one after another. */
function admitted(lines: ReturnType<typeof createSiteQueues>, site: string, tries: number, caps = 1): number {
  let count = 0;
  for (let i = 0; i < tries; i++) {
    if (lines.isLong(site, POLICY, caps)) continue;
    lines.enter(site);
    count += 1;
  }
  return count;
}

describe("the room at a site", () => {
  it("is the length at which its queue counts as long, however deep its servers pipeline, over all its routes", () => {
    for (const caps of [1, 3])
      assert.equal(
        queueCapacityOf(POLICY, caps),
        admitted(
          createSiteQueues(() => POLICY.pipelineDepthMax),
          "a",
          1_000,
          caps,
        ),
      );
  });
});

describe("the queue of a site", () => {
  it("is long when its connections are filled several times over, as deep as they take", () => {
    assert.equal(
      admitted(
        createSiteQueues(() => 10),
        "a",
        1_000,
      ),
      2 * 10 * LIMITS.bulk.lineFillings,
    );
    assert.equal(
      admitted(
        createSiteQueues(() => 1),
        "a",
        1_000,
      ),
      2 * LIMITS.bulk.lineFillings,
    );
  });

  it("is longer for a site whose connections count by several ways", () => {
    const lines = () => createSiteQueues(() => 1);
    assert.equal(admitted(lines(), "a", 1_000, 3), 3 * admitted(lines(), "a", 1_000));
  });

  it("is each site's own, and shorter by each that leaves it", () => {
    const lines = createSiteQueues(() => 1);
    assert.equal(admitted(lines, "a", 100), admitted(lines, "b", 100));
    assert.equal(lines.isLong("a", POLICY), true);
    lines.leave("a");
    assert.deepEqual([lines.isLong("a", POLICY), lines.isLong("b", POLICY)], [false, true]);
  });
});
