import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/**
 * The metrics port shows source addresses and traffic: it is on loopback, wherever the API listens, unless the operator
 * sets otherwise.
 */
const closing = createClosing();
let deployment: TestDeployment;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
});
after(closing.close);

/** 127.0.0.2 is an address of this machine too; a server that listens at 127.0.0.1 alone does not answer there. */
const elsewhere = (url: string) => url.replace("127.0.0.1", "127.0.0.2");
const statusOf = async (url: string) => (await fetch(url)).status;

describe("the metrics port", () => {
  it("answers on loopback alone where the API listens everywhere", async () => {
    const api = await deployment.startApi({ HOST: "0.0.0.0" });
    assert.equal(await statusOf(`${elsewhere(api.url)}/healthz`), 200);
    assert.equal(await statusOf(`${api.metricsUrl}/metrics`), 200);
    await assert.rejects(fetch(`${elsewhere(api.metricsUrl)}/metrics`), (error: Error) => {
      assert.equal((error.cause as NodeJS.ErrnoException).code, "ECONNREFUSED");
      return true;
    });
  });

  it("answers everywhere where METRICS_HOST says so, as in the image", async () => {
    const api = await deployment.startApi({ METRICS_HOST: "0.0.0.0" });
    assert.equal(await statusOf(`${elsewhere(api.metricsUrl)}/metrics`), 200);
    await assert.rejects(fetch(`${elsewhere(api.url)}/healthz`));
  });
});
