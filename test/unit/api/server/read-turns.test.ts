import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { acceptsBody } from "../../../../src/api/routing/route.ts";
import { createReadTurns } from "../../../../src/api/server/read-turns.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { routes } from "../../../support/route-table.ts";

const CONNECTIONS = 10;
const AT_ONCE = CONNECTIONS * LIMITS.postgres.readsPart;
const OF_ONE = AT_ONCE / 2;

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Reads that note their beginning, and end when the test says so. */
function createReads() {
  const clock = createFakeClock();
  const turns = createReadTurns(clock, CONNECTIONS);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const gone = new Set<string>();
  const ask = (share: string, name: string) =>
    turns.run(
      share,
      () => gone.has(name),
      () => {
        begun.push(name);
        return new Promise<string>((resolve) => {
          ends.set(name, () => resolve(name));
        });
      },
    );
  async function end(...names: string[]): Promise<void> {
    for (const name of names) ends.get(name)?.();
    await settled();
  }
  return { clock, turns, begun, gone, ask, end };
}

const named = (share: string, count: number) => Array.from({ length: count }, (_, i) => `${share}${i}`);

describe("turns of reads", () => {
  it("leave connections to others: of one share half of them begin, of all together a part", async () => {
    const { begun, ask, end } = createReads();
    const shares = ["a", "b", "c"];
    const all = shares.flatMap((share) => named(share, 50).map((name) => ask(share, name)));
    await settled();
    assert.deepEqual(begun, [...named("a", OF_ONE), ...named("b", OF_ONE)]);
    // The next turn is of the share that has had none.
    await end("a0");
    assert.deepEqual(begun.slice(AT_ONCE), ["c0"]);
    while (begun.length < 150) await end(...begun);
    await end(...begun);
    assert.deepEqual(
      await Promise.all(all),
      shares.flatMap((share) => named(share, 50)),
    );
  });

  it("are not taken up by clients that have gone, nor by faults", async () => {
    const { turns, begun, gone, ask, end } = createReads();
    const first = named("a", OF_ONE).map((name) => ask("a", name));
    const failing = assert.rejects(
      turns.run(
        "a",
        () => false,
        () => {
          throw new Error("a fault");
        },
      ),
      /a fault/,
    );
    const left = assert.rejects(ask("a", "left"), { code: "bad_request" });
    const last = ask("a", "last");
    gone.add("left");
    await settled();
    await end(...named("a", OF_ONE));
    await Promise.all([failing, left, ...first]);
    assert.deepEqual(begun.slice(OF_ONE), ["last"]);
    await end("last");
    assert.equal(await last, "last");
  });

  it("are waited for no longer than a statement may take: then 503 with Retry-After", async () => {
    const { clock, begun, ask, end } = createReads();
    const first = named("a", OF_ONE).map((name) => ask("a", name));
    const late = assert.rejects(
      ask("a", "late"),
      (error) => error instanceof AppError && error.code === "overloaded" && error.retryAfterS === 1,
    );
    await settled();
    await clock.advanceAsync(LIMITS.postgres.readWaitMs);
    await late;
    await end(...named("a", OF_ONE));
    await Promise.all(first);
    assert.deepEqual(begun, named("a", OF_ONE));
    assert.equal(clock.pending, 0);
  });

  it("are waited for by so many of a share, then 503 at once, and by others all the same", async () => {
    const { begun, ask, end } = createReads();
    const names = named("a", LIMITS.postgres.readSlots.perShare);
    const all = names.map((name) => ask("a", name));
    await assert.rejects(ask("a", "too many"), { code: "overloaded" });
    const other = ask("b", "b0");
    await settled();
    await end("a0", "b0");
    assert.equal(await other, "b0");
    const next = ask("a", "next");
    while (begun.length < names.length + 2) await end(...begun);
    await end(...begun);
    assert.deepEqual(await Promise.all([...all, next]), [...names, "next"]);
    assert.ok(!begun.includes("too many"));
  });

  it("of a process with one connection are one at a time", async () => {
    const turns = createReadTurns(createFakeClock(), 1);
    let underWay = 0;
    const read = async () => {
      underWay += 1;
      assert.equal(underWay, 1);
      await settled();
      underWay -= 1;
    };
    await Promise.all(["a", "a", "b"].map((share) => turns.run(share, () => false, read)));
  });
});

describe("routes that read", () => {
  const reading = routes.filter(({ rate }) => rate === "read");

  it("take no body, which would hold a turn while it comes", () => {
    assert.deepEqual(
      reading.filter(acceptsBody).map(({ operationId }) => operationId),
      [],
    );
  });

  it("take no turn where they wait for more than Postgres", () => {
    assert.deepEqual(
      reading
        .filter(({ waitsElsewhere }) => waitsElsewhere === true)
        .map(({ operationId }) => operationId)
        .sort(),
      ["getAccuracy", "getBulkResults", "getDeployment", "getUpload"],
    );
  });
});
