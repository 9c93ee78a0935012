import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import {
  createJobObjects,
  type JobObjects,
  MissingObject,
} from "../../../src/features/bulk/results/job-objects.ts";
import { createObjectStore, isObjectsOutage, type ObjectStore } from "../../../src/stores/objects/objects.ts";
import { testObjects } from "../../support/embedded.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";

/** Object storage that keeps its connections and never answers: no operation waits longer than its timeout. */
async function open(t: TestContext, at?: string) {
  const { endpoint: real, region, bucket, ...credentials } = await testObjects();
  const gate = await createTcpGate(at ?? real);
  const endpoint = throughGate(real, gate);
  const clock = createFakeClock();
  const store = createObjectStore({ endpoint, publicEndpoint: endpoint, region, bucket, credentials }, clock);
  t.after(() => gate.close());
  t.after(() => store.stop());
  return { gate, clock, store, objects: createJobObjects(store) };
}

const OPERATIONS: [string, (objects: JobObjects, store: ObjectStore) => Promise<unknown>][] = [
  ["a put", (objects) => objects.put("k", "content", "text/plain")],
  ["a get", (objects) => objects.get("k")],
  ["a range", (objects) => objects.getRange("k", { firstByte: 0, bytes: 1 })],
  ["a deletion", (_, store) => store.deleteBelow("teams/")],
  ["a ping", (_, store) => store.ping()],
];

/** @returns the error of the operation, after the clock was moved by its time limit */
async function outcomeAfterTheDeadline(
  operation: Promise<unknown>,
  clock: FakeClock,
  reached: () => Promise<unknown>,
): Promise<unknown> {
  const outcome = operation.then(
    () => assert.fail("it was answered"),
    (error: unknown) => error,
  );
  await reached();
  clock.advance(LIMITS.objects.operationMs);
  return outcome;
}

describe("silent object storage", () => {
  for (const [name, operate] of OPERATIONS)
    it(`${name} is an outage when its time is up`, async (t) => {
      const { gate, clock, store, objects } = await open(t);
      gate.stall();
      const error = await outcomeAfterTheDeadline(operate(objects, store), clock, async () => undefined);
      assert.ok(isObjectsOutage(error), String(error));
      assert.equal(clock.pending, 0);
    });

  it("a body that stops in the middle is one too", async (t) => {
    let asked = () => {};
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const halting = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: text/plain\r\n\r\nbeginning");
        asked();
      });
    });
    await new Promise<void>((resolve) => halting.listen(0, "127.0.0.1", resolve));
    t.after(() => halting.close());
    const { clock, objects } = await open(
      t,
      `http://127.0.0.1:${(halting.address() as { port: number }).port}`,
    );
    const error = await outcomeAfterTheDeadline(objects.get("k"), clock, () => begun);
    assert.ok(isObjectsOutage(error), String(error));
  });

  it("a cancelled operation waits no longer", async (t) => {
    const { gate, clock, objects } = await open(t);
    gate.stall();
    const controller = new AbortController();
    const reason = new Error("not wanted");
    const got = [
      objects.put("k", "content", "text/plain", controller.signal),
      objects.get("k", controller.signal),
      objects.getRange("k", { firstByte: 0, bytes: 1 }, controller.signal),
    ].map((operation) => assert.rejects(operation, reason));
    controller.abort(reason);
    await Promise.all(got);
    await assert.rejects(objects.get("k", controller.signal), reason);
    assert.equal(clock.pending, 0);
  });
});

describe("an object", () => {
  it("that is not there, or ends before what is asked of it, is missing", async (t) => {
    const { objects } = await open(t);
    await objects.put("short", "1234", "text/plain");
    assert.equal(String(await objects.getRange("short", { firstByte: 1, bytes: 2 })), "23");
    await assert.rejects(objects.get("none"), MissingObject);
    await assert.rejects(objects.getRange("short", { firstByte: 4, bytes: 1 }), MissingObject);
  });
});
