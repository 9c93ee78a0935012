import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Redis } from "ioredis";
import { jobStreamKeys } from "../../../src/features/bulk/schedule/job-stream.ts";
import { readKeda } from "../../support/autoscaler.ts";
import { textOfPage } from "../../support/documented/blocks.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { createClosing } from "../../support/store.ts";

/** The user of Redis that docs/kubernetes.md has for KEDA: it may ask what KEDA asks for its triggers, and nothing else. */

const page = textOfPage("docs/kubernetes.md");
const [, keys = "", commands = ""] =
  /`ACL SETUSER keda on >PASSWORD resetkeys "(\S+)" (.+)`/.exec(page) ?? assert.fail("no ACL");
const outstanding = "rcpt_chunks_outstanding 64\n";
const closing = createClosing();
let admin: Redis;
let url: string;
let users = 0;

before(async () => {
  url = await testRedisUrl();
  admin = new Redis(url);
  closing.after(() => void admin.disconnect());
  const { group, streams } = jobStreamKeys("");
  for (const stream of Object.values(streams)) await admin.xgroup("CREATE", stream, group, "0", "MKSTREAM");
});
after(closing.close);

/** A connection of a user with these rights. */
async function userWith(...rights: string[]): Promise<Redis> {
  users += 1;
  const username = `keda-${process.pid}-${users}`;
  await admin.acl("SETUSER", username, "on", ">secret", "resetkeys", keys, ...rights);
  closing.after(() => void admin.acl("DELUSER", username));
  const { hostname: host, port, pathname } = new URL(url);
  const own = { host, port: Number(port), db: Number(pathname.slice(1)), username, password: "secret" };
  const client = new Redis({ ...own, lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => undefined);
  closing.after(() => void client.disconnect());
  return client;
}

describe("KEDA's user of Redis", () => {
  it("may ask what the triggers ask, in a numbered database by one right more", async () => {
    assert.match(page, /`\+select` where REDIS_URL ends in a number/);
    const keda = await userWith(...commands.split(" "), "+select");
    assert.equal(await keda.ping(), "PONG");
    assert.match(await keda.info("server"), /redis_version/);
    const figures = await readKeda().figures(keda, outstanding);
    assert.deepEqual(
      figures.map(({ value }) => value),
      [0, 0, 0, 64],
    );
    assert.equal(await keda.xlen("rcpt:{bulk}:tasks"), 0);
  });

  it("may not choose a database, write, or read anything else", async () => {
    const keda = await userWith(...commands.split(" "));
    await assert.rejects(keda.select(1), /NOPERM/);
    await assert.rejects(keda.xadd("rcpt:{bulk}:tasks", "*", "a", "b"), /NOPERM/);
    await assert.rejects(keda.xlen("rcpt:cache"), /NOPERM/);
    await assert.rejects(keda.keys("*"), /NOPERM/);
  });

  it("is the same where ACL is not allowed", () => {
    assert.ok(page.includes(`access string \`on ${keys} ${commands}\``));
  });
});
