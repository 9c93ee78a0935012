import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  createIdempotency,
  type KeyedAttempt,
  type KeyedRequest,
} from "../../../../src/features/idempotency/idempotency.ts";
import {
  pruneIdempotencyKeys,
  type StoredResponse,
} from "../../../../src/features/idempotency/idempotency-sql.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { createPostgres } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { createTcpGate, throughGate } from "../../../support/tcp-gate.ts";
import { until } from "../../../support/until.ts";

let teamId: string;

const { sql, url } = await useDatabase();
/** Each claim counts the team's keys. */
const counting = { sql, clock: systemClock, log: silentLog, random: () => 0 };
const idempotency = createIdempotency(counting);
beforeEach(async () => {
  ({ teamId } = await newTeam(sql));
});

const ANSWER: StoredResponse = {
  status: 201,
  contentType: "application/json",
  headers: { Location: "/v1/things/1" },
  body: '{"id":"thing_1"}',
};

function ask(changed: Partial<Omit<KeyedRequest, "body">> & { body?: string } = {}): KeyedRequest {
  const { body = '{"a":1}', ...rest } = changed;
  return {
    teamId,
    livemode: true,
    key: "key-1",
    method: "POST",
    target: "/v1/things?",
    ...rest,
    body: Buffer.from(body),
  };
}

async function first(request: KeyedRequest = ask()): Promise<KeyedAttempt> {
  const begun = await idempotency.begin(request);
  assert.ok("settle" in begun, "the key was free");
  return begun;
}

const answersTo = async (request: KeyedRequest) => {
  const begun = await idempotency.begin(request);
  return "replay" in begun ? begun.replay : "claimed";
};

describe("an idempotency key", () => {
  it("is refused as in flight while the first is running, and gets its answer afterwards", async () => {
    const attempt = await first();
    await assert.rejects(idempotency.begin(ask()), { code: "idempotency_in_flight", retryAfterS: 1 });
    await attempt.settle(ANSWER);
    assert.deepEqual(await answersTo(ask()), ANSWER);
    assert.deepEqual(await answersTo(ask()), ANSWER);
  });

  it("is free again when its answer holds no longer", async () => {
    const holding = { ...ANSWER, holdsUntil: new Date(Date.now() + 3_600_000) };
    await (await first()).settle(holding);
    assert.deepEqual(await answersTo(ask()), ANSWER);
    const other = ask({ key: "key-2" });
    await (await first(other)).settle({ ...ANSWER, holdsUntil: new Date(Date.now() - 60_000) });
    assert.equal(await answersTo(other), "claimed");
    // `holdsUntil` never extends the usual retention.
    const third = ask({ key: "key-3" });
    await (await first(third)).settle({ ...ANSWER, holdsUntil: new Date(Date.now() + 365 * 86_400_000) });
    const late = await sql`
      select from idempotency_keys
      where team_id = ${teamId} and expires_at > now() + ${LIMITS.idempotency.keptMs + 60_000} * interval '1 millisecond'`;
    assert.equal(late.count, 0);
  });

  it("keeps an answer without a body", async () => {
    const empty = { status: 204, contentType: "application/json", headers: {}, body: null };
    await (await first()).settle(empty);
    assert.deepEqual(await answersTo(ask()), empty);
  });

  it("is refused with another body, path, query or method, also while the first is running", async () => {
    const attempt = await first();
    for (const settled of [false, true]) {
      if (settled) await attempt.settle(ANSWER);
      for (const other of [
        { body: '{"a":2}' },
        { body: '{"a":1} ' },
        { body: "" },
        { target: "/v1/others?" },
        { target: "/v1/things?x=1" },
        { method: "PUT" },
      ])
        await assert.rejects(idempotency.begin(ask(other)), { code: "idempotency_mismatch" });
    }
  });

  it("belongs to its team and mode", async () => {
    await (await first()).settle(ANSWER);
    const other = await newTeam(sql);
    assert.equal(await answersTo(ask({ teamId: other.teamId })), "claimed");
    assert.equal(await answersTo(ask({ livemode: false })), "claimed");
    assert.equal(await answersTo(ask({ key: "KEY-1" })), "claimed");
  });

  it("is free again once released", async () => {
    await (await first()).release();
    await (await first(ask({ body: "another" }))).settle(ANSWER);
  });

  it("must be 1 to 255 printable ASCII characters", async () => {
    for (const key of ["", "k".repeat(256), "a\tb", "a\u0000b", "\u007f", "ü", "\u{1f600}"])
      await assert.rejects(idempotency.begin(ask({ key })), { code: "bad_request" });
    for (const key of ["k".repeat(255), " ", '"8e03978e-40d5-43dd-bc93-6894a57f9324"'])
      assert.equal(await answersTo(ask({ key })), "claimed");
  });

  it("is stored by its hash", async () => {
    await first(ask({ key: "what-a-client-wrote" }));
    const [row] = await sql<{ text: string }[]>`
      select string_agg(k::text, '') as text from idempotency_keys k where team_id = ${teamId}`;
    assert.doesNotMatch(row?.text ?? "", /client-wrote/);
    assert.doesNotMatch(row?.text ?? "", new RegExp(Buffer.from("client-wrote").toString("hex")));
  });

  it("goes with its team", async () => {
    await first();
    await sql`delete from teams where id = ${teamId}`;
    assert.equal((await sql`select from idempotency_keys where team_id = ${teamId}`).length, 0);
  });
});

describe("a claim that was left", () => {
  const endLease = () => sql`
    update idempotency_keys set locked_until = clock_timestamp() - interval '1 ms' where team_id = ${teamId}`;

  it("is taken over by one of those that send the same request again", async () => {
    await first();
    await endLease();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () =>
        idempotency.begin(ask()).then(
          () => "claimed",
          (error: { code: string }) => error.code,
        ),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome === "claimed").length, 1);
    assert.equal(outcomes.filter((outcome) => outcome === "idempotency_in_flight").length, 19);
  });

  it("is not taken by another request", async () => {
    await first();
    await endLease();
    await assert.rejects(idempotency.begin(ask({ body: "another" })), { code: "idempotency_mismatch" });
  });

  it("cannot be settled or released any more by the attempt that lost it", async () => {
    const dead = await first();
    await endLease();
    const alive = await first();
    await dead.settle({ ...ANSWER, body: '"late"' });
    await dead.release();
    await assert.rejects(idempotency.begin(ask()), { code: "idempotency_in_flight" });
    await alive.settle(ANSWER);
    await dead.settle({ ...ANSWER, body: '"late"' });
    assert.deepEqual(await answersTo(ask()), ANSWER);
  });
});

describe("an answer that was kept", () => {
  it("is forgotten after a day, by the next request or the relay, whichever is first", async () => {
    await (await first()).settle(ANSWER);
    const day = LIMITS.idempotency.keptMs / 1000;
    const [kept] = await sql<[{ seconds: number }]>`
      select extract(epoch from expires_at - clock_timestamp())::float as seconds
      from idempotency_keys where team_id = ${teamId}`;
    assert.ok(kept.seconds > day - 60 && kept.seconds <= day, `${kept.seconds}`);
    await sql`update idempotency_keys set expires_at = clock_timestamp() where team_id = ${teamId}`;
    await (await first(ask({ body: "another" }))).settle(ANSWER);
    await sql`update idempotency_keys set expires_at = clock_timestamp() where team_id = ${teamId}`;
    assert.ok((await pruneIdempotencyKeys(sql)) >= 1);
    assert.equal((await sql`select from idempotency_keys where team_id = ${teamId}`).length, 0);
  });
});

describe("a team's keys", () => {
  const { perTeam, spare } = LIMITS.idempotency;

  /** As many as are held; the higher `n`, the later. */
  const fill = (state: "kept" | "running" | "expired") => sql`
    insert into idempotency_keys
      (team_id, livemode, key_hash, fingerprint, claim, locked_until, expires_at, status, content_type)
    select ${teamId}, true, sha256(n::text::bytea), sha256('x'), gen_random_uuid(), now() + interval '1 minute',
      now() + ${state === "expired" ? "-1 hour" : "1 hour"}::interval + n * interval '1 ms',
      ${state === "running" ? null : 201}::smallint, 'application/json'
    from generate_series(1, ${perTeam + spare}) n`;
  const count = async () => (await sql`select from idempotency_keys where team_id = ${teamId}`).length;

  it("make room for the latest: the oldest go, of their mode only, and those at work stay", async () => {
    await (await first(ask({ livemode: false }))).settle(ANSWER);
    await sql`update idempotency_keys set expires_at = now() + interval '10 minutes' where team_id = ${teamId}`;
    await fill("kept");
    await sql`update idempotency_keys set status = null where team_id = ${teamId} and key_hash = sha256('1')`;
    const keys = Array.from({ length: 20 }, (_, i) => `more ${i}`);
    await Promise.all(keys.map(async (key) => (await first(ask({ key }))).settle(ANSWER)));
    const gone = await sql<{ n: number }[]>`
      select n from generate_series(1, ${perTeam + spare}) n
      where not exists (select from idempotency_keys
        where team_id = ${teamId} and key_hash = sha256(n::text::bytea)) order by n`;
    assert.ok(gone.length >= spare - 2 && gone.length <= spare + keys.length, `${gone.length}`);
    assert.equal(gone[0]?.n, 2, "the oldest at work stays");
    assert.equal(gone.at(-1)?.n, gone.length + 1, "the next oldest went");
    for (const key of keys) assert.deepEqual(await answersTo(ask({ key })), ANSWER);
    assert.deepEqual(await answersTo(ask({ livemode: false })), ANSWER);
  });

  it("are counted by some claims only", async () => {
    await fill("kept");
    const { countedPart } = LIMITS.idempotency;
    const draws = [countedPart, 0.99, countedPart / 2];
    const drawing = createIdempotency({ ...counting, random: () => draws.shift() ?? 1 });
    const counts: number[] = [];
    for (const key of ["one", "two", "three"]) {
      assert.ok("settle" in (await drawing.begin(ask({ key }))));
      counts.push(await count());
    }
    const held = perTeam + spare;
    assert.deepEqual(counts, [held + 1, held + 2, held + 2 - spare + 1]);
  });

  it("that have expired take up no room", async () => {
    await fill("expired");
    await (await first()).settle(ANSWER);
    assert.equal(await count(), perTeam + spare + 1);
  });

  it("that are all at work are not taken away", async () => {
    await fill("running");
    await assert.rejects(idempotency.begin(ask({ key: "one more" })), { code: "overloaded", retryAfterS: 1 });
    assert.equal(await count(), perTeam + spare);
  });
});

describe("without Postgres", () => {
  it("refuses before the work, and when it is silent too", async () => {
    const gate = await createTcpGate(url);
    const cut = createPostgres({ url: throughGate(url, gate), maxConnections: 2, applicationName: "cut" });
    const through = createIdempotency({ sql: cut, clock: systemClock, log: silentLog });
    try {
      gate.shut();
      await assert.rejects(through.begin(ask()), { code: "unavailable" });
      gate.stall();
      await assert.rejects(through.begin(ask()), { code: "unavailable" });
    } finally {
      await cut.end({ timeout: 0 });
      await gate.close();
    }
  });

  it("answers the caller at once, and stores the answer as soon as Postgres is back", async () => {
    const gate = await createTcpGate(url);
    const cut = createPostgres({ url: throughGate(url, gate), maxConnections: 2, applicationName: "cut" });
    const through = createIdempotency({ sql: cut, clock: systemClock, log: silentLog });
    try {
      const begun = await through.begin(ask());
      const other = await through.begin(ask({ key: "key-2" }));
      assert.ok("settle" in begun && "settle" in other);
      gate.shut();
      await Promise.all([begun.settle(ANSWER), other.release()]);
      await assert.rejects(idempotency.begin(ask()), { code: "idempotency_in_flight" });
      gate.open();
      const kept = await until("the answer is kept", () =>
        answersTo(ask()).catch((error: unknown) => {
          assert.equal((error as { code?: string }).code, "idempotency_in_flight");
          return null;
        }),
      );
      assert.deepEqual(kept, ANSWER);
      await through.drain();
      assert.equal(await answersTo(ask({ key: "key-2" })), "claimed");
    } finally {
      await cut.end({ timeout: 0 });
      await gate.close();
    }
  });

  it("gives up at the end, when all was tried once more", async () => {
    const gate = await createTcpGate(url);
    const cut = createPostgres({ url: throughGate(url, gate), maxConnections: 2, applicationName: "cut" });
    const through = createIdempotency({ sql: cut, clock: createFakeClock(), log: silentLog });
    try {
      const begun = await through.begin(ask());
      assert.ok("settle" in begun);
      gate.shut();
      await begun.settle(ANSWER);
      await through.drain();
      await assert.rejects(idempotency.begin(ask()), { code: "idempotency_in_flight" });
    } finally {
      await cut.end({ timeout: 0 });
      await gate.close();
    }
  });
});
