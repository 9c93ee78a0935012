import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { ContractProblem } from "../../support/contract.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import { newAddress } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** A team's usage while Postgres is away. The service's own bounds end the requests here: no test makes them longer. */
const closing = createClosing();
let deployment: TestDeployment;
before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
});
after(closing.close);

describe("usage without Postgres", () => {
  for (const trouble of ["shut", "stall"] as const) {
    it(`is no figure at all while it does not answer (${trouble}), and whole again when it does`, async (t) => {
      const gate = await createTcpGate(deployment.settings.DATABASE_URL);
      t.after(() => gate.close());
      const api = await deployment.startApi({
        DATABASE_URL: throughGate(deployment.settings.DATABASE_URL, gate),
      });
      t.after(() => api.stop());
      const { liveKey } = await deployment.team("enterprise");
      const address = newAddress();
      const first = await api.verify(liveKey, address);
      assert.equal(first.status, 200);
      await until("its use is reported", async () => {
        const { status, body } = await api.send<{ used: number }>("GET", "/v1/usage", { key: liveKey });
        return status === 200 && body.used === 1;
      });
      gate[trouble]();
      // Cached, of a lease that is there: neither needs Postgres.
      const second = await api.verify(liveKey, address);
      assert.deepEqual([second.status, second.body.cached], [200, true]);
      for (const path of ["/v1/usage", "/v1/usage/history"]) {
        const { status, headers, body } = await api.send("GET", path, { key: liveKey });
        v.assert(ContractProblem, body);
        assert.deepEqual([status, body.code], [503, "unavailable"]);
        assert.ok(Number(headers.get("retry-after")) >= 1);
      }
      gate.open();
      const today = () =>
        api.send<{ used: number; single: number; cached: number }>("GET", "/v1/usage", { key: liveKey });
      const again = await until("it answers again", async () => {
        const { status, body } = await today();
        return status === 200 && body;
      });
      assert.equal(again.used, 2);
      // Counters may be older by one write of theirs.
      await until("the counters are whole", async () => {
        const { status, body } = await today();
        return status === 200 && body.used === 2 && body.single === 2 && body.cached === 1;
      });
    });
  }
});
