import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createWebhookClient } from "../../../../../src/features/webhooks/deliver/webhook-client.ts";
import type {
  HostAddresses,
  HostLookup,
} from "../../../../../src/features/webhooks/deliver/webhook-target.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createClosing } from "../../../../support/store.ts";
import { startReceiver } from "../../../../support/webhook-receiver.ts";

/** Addresses of two servers on one port: a name resolves to the first; the second must not be reached. */
const FIRST = "127.0.0.21";
const SECOND = "127.0.0.22";
const closing = createClosing();
const asked: string[] = [];
let port: number;

function listen(server: Server, address: string, on: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(on, address, () => resolve((server.address() as AddressInfo).port));
  });
}

before(async () => {
  const serverAt = (address: string) =>
    createServer((request, response) => {
      asked.push(`${address} ${request.headers.host}`);
      response.writeHead(204).end();
    });
  const servers = [serverAt(FIRST), serverAt(SECOND)] as const;
  port = await listen(servers[0], FIRST, 0);
  await listen(servers[1], SECOND, port);
  for (const server of servers)
    closing.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
});
after(closing.close);

const answers = (...lists: string[][]) => {
  const questions: string[] = [];
  const lookup: HostLookup = async (host): Promise<HostAddresses> => {
    questions.push(host);
    return { found: true, addresses: lists[Math.min(questions.length, lists.length) - 1] ?? [] };
  };
  return { questions, lookup };
};

function post(lookup: HostLookup, url: string, privateAddresses = true) {
  asked.length = 0;
  const client = createWebhookClient({ lookup, clock: systemClock, privateAddresses });
  return client.post({ url, headers: {}, body: "{}" });
}

describe("where a delivery goes", () => {
  it("is where the name was found to be, asked once: what it says next does not matter", async () => {
    const { lookup, questions } = answers([FIRST], [SECOND]);
    const attempt = await post(lookup, `http://rebind.example.com:${port}/`);
    assert.ok(attempt.answered && attempt.status === 204);
    assert.deepEqual(questions, ["rebind.example.com"]);
    assert.deepEqual(asked, [`${FIRST} rebind.example.com:${port}`]);
    await post(lookup, `http://rebind.example.com:${port}/`);
    assert.deepEqual(asked, [`${SECOND} rebind.example.com:${port}`]);
  });

  it("is the next of its addresses where one does not answer", async () => {
    const { lookup } = answers(["127.0.0.23", "::1", SECOND]);
    const attempt = await post(lookup, `http://several.example.com:${port}/`);
    assert.ok(attempt.answered && attempt.status === 204, JSON.stringify(attempt));
    assert.deepEqual(asked, [`${SECOND} several.example.com:${port}`]);
  });

  it("is never a private address, nor a public one that comes with a private one", async () => {
    for (const addresses of [
      [FIRST],
      ["10.0.0.1"],
      ["169.254.169.254"],
      ["::1"],
      ["::ffff:127.0.0.21"],
      ["64:ff9b::7f00:15"],
      ["fe80::1"],
      ["0.0.0.0"],
      ["8.8.8.8", FIRST],
      ["2606:4700::1111", "fd00::1"],
      ["not an address"],
    ]) {
      const attempt = await post(answers(addresses).lookup, `https://inside.example.com:${port}/`, false);
      assert.deepEqual(
        attempt.answered ? attempt.status : attempt.error,
        "address_not_allowed",
        addresses.join(),
      );
    }
    assert.deepEqual(asked, []);
  });

  it("is nowhere for a URL that would not be taken today", async () => {
    const { lookup, questions } = answers([FIRST]);
    for (const url of [
      `http://a.example.com:${port}/`,
      `https://${FIRST}:${port}/`,
      "https://localhost/",
      "nonsense",
    ]) {
      const attempt = await post(lookup, url, false);
      assert.equal(attempt.answered ? attempt.status : attempt.error, "invalid_url", url);
    }
    assert.deepEqual([questions, asked], [[], []]);
  });

  it("is loopback for localhost, whatever the DNS says", async () => {
    const { lookup, questions } = answers(["8.8.8.8"]);
    const receiver = await startReceiver();
    closing.after(() => receiver.close());
    const attempt = await post(lookup, `http://localhost:${receiver.port}/`);
    assert.ok(attempt.answered && attempt.status === 204, JSON.stringify(attempt));
    assert.deepEqual([questions, receiver.received.length], [[], 1]);
  });

  it("is nowhere when the name is not found, cannot be looked up, or not in time", async () => {
    const outcomes = ["host_not_found", "dns_failure"] as const;
    for (const error of outcomes) {
      const attempt = await post(async () => ({ found: false, error }), "https://gone.example.com/", false);
      assert.equal(attempt.answered ? attempt.status : attempt.error, error);
    }
    const clock = createFakeClock();
    const client = createWebhookClient({
      lookup: () => new Promise(() => undefined),
      clock,
      privateAddresses: false,
    });
    const attempt = client.post({ url: "https://slow.example.com/", headers: {}, body: "{}" });
    await clock.advanceAsync(15_000);
    assert.deepEqual(await attempt, { answered: false, error: "dns_failure", durationMs: 15_000 });
    assert.equal(clock.pending, 0);
  });
});
