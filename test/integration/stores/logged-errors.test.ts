import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createLog, type Logger } from "../../../src/platform/log.ts";
import { createRedis } from "../../../src/stores/redis.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { openDatabase } from "../../support/store.ts";

function capturing(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: createLog("debug", {}, { write: (line) => void lines.push(line) }) };
}

describe("what is logged of a store's errors", () => {
  it("holds no password when Redis refuses it", async (t: TestContext) => {
    const url = new URL(await testRedisUrl());
    url.password = "pa55word-of-a-stranger";
    const { log, lines } = capturing();
    const redis = createRedis({ url: url.href, name: "rcpt-test", log });
    t.after(() => redis.stop());
    await redis.start();
    assert.ok(
      lines.some((line) => line.includes("WRONGPASS")),
      lines.join(""),
    );
    assert.ok(lines.every((line) => !line.includes("pa55word")));
  });

  it("holds no address when Postgres refuses its row", async (t: TestContext) => {
    const { sql } = await openDatabase(t);
    const { log, lines } = capturing();
    const insert = (id: string) => sql`insert into users (id, email) values (${id}, 'someone@example.com')`;
    await insert("usr_1");
    await insert("usr_2").catch((err: unknown) => log.error({ err }, "not inserted"));
    const [line = ""] = lines;
    assert.equal(JSON.parse(line).err.code, "23505");
    assert.doesNotMatch(line, /someone/);
  });
});
