import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BulkJobsDeps, createBulkJobs } from "../../../../../src/features/bulk/jobs/jobs.ts";
import type { ResultsQuery } from "../../../../../src/features/bulk/results/results.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { actorFor } from "../../../../support/store.ts";

const ID = "job_01h455vb4pex5vsknk084sn02q";
const ASK = { format: "csv", verdict: null, reason: null, provider: null } as ResultsQuery;

/** @param source of the job */
function jobsWith(source: unknown) {
  let slots = 0;
  const deps = {
    sql: async () => [{ id: ID, livemode: true, source }],
    clock: createFakeClock(),
    results: {
      async read() {
        slots += 1;
        return {};
      },
    },
  } as unknown as BulkJobsDeps;
  const read = () => createBulkJobs(deps).results(actorFor("team_1"), ID, ASK, new AbortController().signal);
  return { read, slots: () => slots };
}

describe("the results of a job", () => {
  it("take no slot when their file cannot be named", async () => {
    const named = jobsWith({ type: "upload", filename: "list.csv" });
    assert.equal((await named.read()).fileNames.ofList, "list-results.csv");
    assert.equal(named.slots(), 1);
    const unnamed = jobsWith({ type: "upload" });
    await assert.rejects(unnamed.read(), TypeError);
    assert.equal(unnamed.slots(), 0);
  });
});
