import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { createPostgres, isOutage, type Transaction } from "../../../src/stores/postgres/postgres.ts";
import { useDatabase } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Transactions whose connection is lost. (An error that the client throws uncaught fails the file.) */
const { sql: direct, url, closing } = await useDatabase();
const gate = await createTcpGate(url);
closing.after(() => gate.close());
const sql = createPostgres({ url: throughGate(url, gate), maxConnections: 1, applicationName: "rcpt-cut" });
closing.after(() => sql.end({ timeout: 1 }));
await direct`create table written (what text)`;

beforeEach(async () => {
  gate.open();
  await direct`truncate written`;
});

const write = (tx: Transaction, what: string) => tx`insert into written (what) values (${what})`;

const backends = () => direct<{ pid: number; state: string; query: string }[]>`
  select pid, state, query from pg_stat_activity where application_name = 'rcpt-cut'`;

const ways: [string, () => Promise<unknown>][] = [
  ["the network", async () => gate.shut()],
  [
    "the server",
    async () =>
      direct`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rcpt-cut'`,
  ],
];

/** Runs `work` in a transaction and cuts the connection when it calls `reached`. @returns "committed", or the error's code */
async function cutDuring(
  cut: () => Promise<unknown>,
  work: (tx: Transaction, reached: () => void, gone: Promise<void>) => Promise<unknown>,
): Promise<string> {
  let reach: () => void = () => undefined;
  let leave: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const outcome = sql
    .begin((tx) => work(tx, reach, gone))
    .then(
      () => "committed",
      (error) => String((error as NodeJS.ErrnoException).code),
    );
  await reached;
  await cut();
  const word = await outcome;
  leave();
  return word;
}

/** Asserts that the pool's only connection works again, and that the transaction has written nothing. */
async function assertNothingLeft(): Promise<void> {
  gate.open();
  await until("the pool serves again", () =>
    sql`select 1`.then(
      () => true,
      () => false,
    ),
  );
  await sql.begin((tx) => write(tx, "next"));
  assert.deepEqual(
    (await direct<{ what: string }[]>`select what from written`).map(({ what }) => what),
    ["next"],
  );
}

for (const [by, cut] of ways)
  describe(`a transaction cut off by ${by}`, () => {
    it("in a statement rejects", async () => {
      const word = await cutDuring(cut, async (tx, reached) => {
        await write(tx, "before");
        const slow = tx`select pg_sleep(300)`.execute();
        await until("the statement runs", async () =>
          (await backends()).some(({ state, query }) => state === "active" && query.includes("pg_sleep")),
        );
        reached();
        await slow;
      });
      // The server does not see that its client has gone while it sleeps, and holds the table.
      await direct`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'rcpt-cut' and query like '%pg_sleep%'`;
      assert.match(word, /^(CONNECTION_CLOSED|ECONNRESET|57P01)$/);
      await assertNothingLeft();
    });

    it("between two statements rejects, and the second is not sent, nor outside of it", async () => {
      const word = await cutDuring(cut, async (tx, reached, gone) => {
        await write(tx, "before");
        reached();
        await gone;
        gate.open();
        await write(tx, "after");
      });
      assert.match(word, /^(CONNECTION_CLOSED|ECONNRESET|57P01)$/);
      await assertNothingLeft();
    });

    it("before its end rejects, and is not committed", async () => {
      const word = await cutDuring(cut, async (tx, reached, gone) => {
        await write(tx, "before");
        reached();
        await gone;
      });
      assert.match(word, /^(CONNECTION_CLOSED|ECONNRESET|57P01)$/);
      await assertNothingLeft();
    });
  });

describe("a transaction that fails", () => {
  it("is rolled back, by the server's refusal as by the caller's", async () => {
    await assert.rejects(
      sql.begin(async (tx) => {
        await write(tx, "before");
        await tx`select 1 / 0`;
      }),
      { code: "22012" },
    );
    await assert.rejects(
      sql.begin(async (tx) => {
        await write(tx, "before");
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    await assertNothingLeft();
  });

  it("by a value that cannot be sent says so at once, is rolled back, and is no outage", async () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    const unsendable: [string, (tx: Transaction) => Promise<unknown>][] = [
      ["undefined", (tx) => tx`select ${undefined as unknown as string}`],
      ["no date", (tx) => tx`select ${new Date(Number.NaN)}::timestamptz`],
      ["a ring", (tx) => tx`select ${tx.json(ring as never)}`],
    ];
    for (const [name, send] of unsendable) {
      const error = await sql
        .begin(async (tx) => {
          await write(tx, "before");
          await send(tx);
        })
        .then(
          () => assert.fail(`${name} was sent`),
          (reason: unknown) => reason,
        );
      assert.ok(error instanceof Error && !isOutage(error), `${name}: ${error}`);
      assert.ok(!("code" in error) || error.code === "UNDEFINED_VALUE", `${name}: ${error}`);
    }
    await assertNothingLeft();
  });
});
