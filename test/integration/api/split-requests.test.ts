import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect, type Harness, startServer } from "./harness.ts";

/** Node.js 20: its binary of uWebSockets.js is of early 2024, before these were mended (docs/image.md). */
const IS_OLD_BINARY = process.versions.modules === "115";
/** Turns of the event loop in which the server accepts a connection and reads what has come. */
const TURNS_TO_READ = 6;

const HEAD = "GET /healthz?probe=value%20of%20it HTTP/1.1\r\nHost: rcpt.test\r\nAccept: */*\r\n\r\n";

describe("what uWebSockets.js mended since 2024", () => {
  let server: Harness;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  /** The status that answers a request which comes in two segments. */
  async function statusOfSplit(head: string, at: number): Promise<number> {
    const client = connect(server.port);
    client.send(head.slice(0, at));
    for (let turns = 0; turns < TURNS_TO_READ; turns++) await turn();
    client.send(head.slice(at));
    const { status } = await client.reply();
    client.destroy();
    return status;
  }

  it("serves a request in two segments, wherever it is split", async () => {
    for (let at = 1; at < HEAD.length; at++) {
      const status = await statusOfSplit(HEAD, at);
      const isOldFault = IS_OLD_BINARY && status === 505 && at < HEAD.indexOf("\r\n") + 2;
      if (!isOldFault) assert.equal(status, 200, `${at}: ${HEAD.slice(0, at)}`);
    }
  });

  it("serves a header name with an underscore", { skip: IS_OLD_BINARY }, async () => {
    const client = connect(server.port);
    client.send("GET /healthz HTTP/1.1\r\nHost: a\r\nx_request_source: b\r\n\r\n");
    assert.equal((await client.reply()).status, 200);
    client.destroy();
  });

  it("refuses a request without any header and closes", { skip: IS_OLD_BINARY }, async () => {
    const client = connect(server.port);
    client.send("GET /healthz HTTP/1.1\r\n\r\n");
    assert.match(await client.closed(), /^HTTP\/1\.1 400 /);
  });
});
