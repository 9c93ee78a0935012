import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createJobObjects } from "../../../src/features/bulk/results/job-objects.ts";
import { createUploadObjects } from "../../../src/features/uploads/upload-objects.ts";
import { createObjectStreams } from "../../../src/stores/objects/object-streams.ts";
import { createObjectStore } from "../../../src/stores/objects/objects.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/until.ts";

const FIRST = Buffer.alloc(1_000, "x");

/** Object storage that accepts each put, begins each read and then stalls it, and stalls each HEAD and list of parts. */
async function holding(t: TestContext) {
  const looks: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "HEAD" || request.url?.includes("uploadId")) looks.push(response);
    else if (request.method === "GET")
      response.writeHead(200, { ETag: '"x"', "Content-Length": "1000000" }).write(FIRST);
    else response.writeHead(200, { ETag: '"x"' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = createFakeClock();
  const settings = { endpoint, publicEndpoint: endpoint, region: "us-east-1", bucket: "own-1" };
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const store = createObjectStore({ ...settings, credentials }, clock);
  const uploads = createUploadObjects(store, { ...settings, credentials }, clock);
  t.after(() => {
    store.stop();
    server.closeAllConnections();
    server.close();
  });
  const own = { bucket: null, key: "k" };
  const streams = createObjectStreams(store, clock);
  return { looks, clock, own, uploads, streams, objects: createJobObjects(store) };
}

function answerLook(response: ServerResponse): void {
  response.writeHead(200, { ETag: '"x"', "Content-Length": "5" }).end();
}

describe("sockets to object storage", () => {
  it("are there for what is short, however many reads last", async (t) => {
    const { looks, own, streams, objects } = await holding(t);
    const stop = new AbortController();
    const readings = Array.from({ length: LIMITS.results.downloads + LIMITS.bulk.tasksAtOnce }, () =>
      streams.openRead(own, {}, stop.signal)[Symbol.asyncIterator](),
    );
    // All of them have begun, and no reader takes more.
    for (const first of await Promise.all(readings.map((reading) => reading.next())))
      assert.equal(first.done, false);
    await objects.put("source", "x", "text/csv");
    const looked = streams.head(own);
    await until("the look is asked for", () => looks.length > 0);
    looks.forEach(answerLook);
    assert.deepEqual(await looked, { bytes: 5, etag: '"x"' });
    stop.abort(new Error("done"));
    await Promise.allSettled(readings.map((reading) => reading.return?.()));
  });

  it("are reserved for writers, however many reads there are; excess reads are refused, and waiting ones are answered", async (t) => {
    const { looks, own, streams, objects } = await holding(t);
    const { atOnce, waitingPerShare: waiting } = LIMITS.objects.looks;
    const tooMany = 100;
    const outcomes: string[] = [];
    const flood = Array.from({ length: atOnce + waiting + tooMany }, () =>
      streams.head(own).then(
        () => outcomes.push("found"),
        (error: { code?: string; name: string }) => outcomes.push(error.code ?? error.name),
      ),
    );
    await until("as many look as may", () => looks.length >= atOnce);
    await until("what is too much is refused", () => outcomes.length === tooMany);
    await objects.put("source", "x", "text/csv");
    // No look has been given up: each waits for those before it, and not for a connection.
    assert.deepEqual(new Set(outcomes), new Set(["overloaded"]));
    let answered = 0;
    const answerAll = () => {
      for (; answered < looks.length; answered++) answerLook(looks[answered] as ServerResponse);
      return outcomes.length === flood.length;
    };
    // Hundreds of requests of the SDK, which a loaded machine takes a minute for.
    await until("the others are answered", answerAll, 240_000);
    assert.equal(outcomes.filter((outcome) => outcome === "found").length, atOnce + waiting);
  });

  it("go by turns to the shares of teams that look at objects and parts, however many looks one has sent", async (t) => {
    const { looks, streams, uploads } = await holding(t);
    const { atOnce } = LIMITS.objects.looks;
    const stop = new AbortController();
    const look = (key: string, share: string) =>
      streams.head({ bucket: null, key }, { share, cancelled: stop.signal });
    const asked: Promise<unknown>[] = Array.from({ length: atOnce + 50 }, () => look("flood", "team_1"));
    await until("as many look as may", () => looks.length === atOnce);
    asked.push(look("other", "team_2"), uploads.listParts("parts", "1", "team_3"));
    for (let answered = 0; answered < 3; answered++) {
      looks[answered]?.writeHead(404).end();
      await until("the next look is asked for", () => looks.length === atOnce + answered + 1);
    }
    const keys = looks.slice(atOnce).map(({ req }) => req.url?.split("?")[0]);
    assert.deepEqual(keys, ["/own-1/other", "/own-1/parts", "/own-1/flood"]);
    for (const response of looks.slice(3)) response.writeHead(404).end();
    stop.abort(new Error("done"));
    await Promise.allSettled(asked);
  });
});
