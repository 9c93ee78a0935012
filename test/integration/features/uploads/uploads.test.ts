import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import type { FileBody } from "../../../../src/features/uploads/receive.ts";
import { insertUpload, uploadKey } from "../../../../src/features/uploads/upload-sql.ts";
import { createUploads } from "../../../../src/features/uploads/uploads.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { createClosing } from "../../../support/store.ts";
import { addJob, enterpriseActor, openUploads, type UploadsWorld } from "../../../support/uploads.ts";

const PART_MIN_BYTES = 5_242_880;
const NEVER = new AbortController().signal;
const closing = createClosing();
let world: UploadsWorld;

before(async () => {
  world = await openUploads(closing);
});
after(closing.close);

const code = (wanted: string) => (error: unknown) => error instanceof AppError && error.code === wanted;

/** A body of these pieces. */
function bodyOf(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  declaredBytes: number | null = null,
): FileBody {
  return {
    declaredBytes,
    async *read(limitBytes, tooLong) {
      if ((declaredBytes ?? 0) > limitBytes) throw tooLong();
      yield* pieces;
    },
  };
}

async function createUrl(actor: Actor, input: { filename: string; bytes?: number }) {
  const made = await world.uploads.create(actor, input);
  assert.ok("url" in made);
  return made;
}

const putTo = (url: string, body: Buffer | string, headers: Record<string, string> = {}) =>
  fetch(url, { method: "PUT", body: typeof body === "string" ? body : new Uint8Array(body), headers });

/** Bodies of one byte, which comes after `end` is called. */
function bodyThatWaits() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* waiting() {
    await ended;
    yield Buffer.from("x");
  }
  return { waiting, end };
}

describe("an upload by a presigned URL", () => {
  it("is open until its bytes are there, and then what object storage has", async () => {
    const actor = await enterpriseActor(world.sql);
    const made = await createUrl(actor, { filename: "a list.csv", bytes: 5 });
    assert.deepEqual([made.status, made.bytes, made.method], ["open", 5, "PUT"]);
    assert.deepEqual(made.headers, { "Content-Length": "5" });
    assert.equal(
      new Date(made.expires_at ?? "").getTime() - new Date(made.created_at).getTime(),
      LIMITS.uploads.presignedMs,
    );
    assert.ok(!made.url.includes("a%20list"), "what a file is called is no part of its key");
    await assert.rejects(world.sources.find(actor, made.id), code("upload_missing"));
    assert.equal((await world.uploads.get(actor, made.id)).status, "open");
    assert.equal((await putTo(made.url, "123456")).status, 403);
    assert.equal((await putTo(made.url, "12345", made.headers)).status, 200);
    const got = await world.uploads.get(actor, made.id);
    assert.deepEqual([got.status, got.bytes], ["stored", 5]);
    const first = await world.sources.find(actor, made.id);
    assert.deepEqual(
      [first.filename, first.bytes, first.key],
      ["a list.csv", 5, uploadKey(actor.teamId, made.id)],
    );
    // The file is sent again while its URL is valid. A job reads the content at the time of its creation.
    assert.equal((await putTo(made.url, "67890", made.headers)).status, 200);
    assert.notEqual((await world.sources.find(actor, made.id)).etag, first.etag);
  });

  it("is refused by tier, size, number and without object storage", async () => {
    const actor = await enterpriseActor(world.sql, { bulkBytes: 1_000 });
    const free = await enterpriseActor(world.sql, { bulkBytes: 0 });
    const input = { filename: "a.csv", bytes: 1_001 };
    await assert.rejects(world.uploads.create(free, input), code("unavailable_in_tier"));
    await assert.rejects(
      world.uploads.receive(free, "a.csv", bodyOf([]), NEVER),
      code("unavailable_in_tier"),
    );
    await assert.rejects(world.uploads.create(actor, input), code("bulk_too_large"));
    const none = createUploads(null);
    await assert.rejects(none.create(actor, input), code("feature_unconfigured"));
    await assert.rejects(none.create(free, input), code("unavailable_in_tier"));
    for (let i = 0; i < LIMITS.uploads.open; i++)
      await insertUpload(world.sql, {
        id: newId("upl"),
        teamId: actor.teamId,
        livemode: actor.livemode,
        filename: "x",
        key: "k",
        bytes: null,
        partBytes: null,
        expiresInMs: 60_000,
      });
    await assert.rejects(createUrl(actor, { filename: "a.csv" }), code("limit_reached"));
    await world.sql`update uploads set expires_at = now() where team_id = ${actor.teamId}`;
    await createUrl(actor, { filename: "a.csv" });
  });

  it("is bounded in number and in bytes of all that a team has", async () => {
    const { stored, deleted, lists } = LIMITS.uploads;
    const actor = await enterpriseActor(world.sql, { bulkBytes: 1_000 });
    const fill = (count: number, status: string, removed: string | null, bytes: number | null) => world.sql`
      insert into uploads (id, team_id, filename, object_key, status, bytes, expires_at, removed_at)
      select 'upl_' || gen_random_uuid(), ${actor.teamId}, 'x', 'k', ${status}, ${bytes}, now() + interval '1 hour',
        ${removed}::timestamptz from generate_series(1, ${count})`;
    const empty = () => world.sql`delete from uploads where team_id = ${actor.teamId}`;
    const create = (bytes?: number) =>
      world.uploads.create(actor, { filename: "a.csv", ...(bytes === undefined ? {} : { bytes }) });
    const send = () => world.uploads.receive(actor, "a.csv", bodyOf([Buffer.from("a")]), NEVER);

    await fill(stored, "stored", null, 1);
    await assert.rejects(create(1), /delete some/);
    await assert.rejects(send(), code("limit_reached"));
    await empty();

    await fill(lists - 1, "stored", null, 1_000);
    await fill(1, "stored", null, 1);
    await assert.rejects(create(1_000), code("limit_reached"));
    await assert.rejects(create(), /of unknown size counts as 1000: delete some/);
    await assert.rejects(send(), code("limit_reached"));
    await create(999);
    await empty();

    await fill(deleted, "open", new Date().toISOString(), null);
    await assert.rejects(create(1), code("limit_reached"));
    await world.sql`update uploads set expires_at = now() where team_id = ${actor.teamId}`;
    assert.equal((await send()).status, "stored");
  });

  it("that gets larger than a list of the team may be is given up when that is seen", async () => {
    const actor = await enterpriseActor(world.sql, { bulkBytes: 5 });
    const seeing: ((id: string) => Promise<unknown>)[] = [
      (id) => world.uploads.get(actor, id),
      (id) => world.uploads.complete(actor, id),
      (id) => world.sources.find(actor, id),
    ];
    for (const see of seeing) {
      const made = await createUrl(actor, { filename: "a.csv" });
      assert.equal((await putTo(made.url, "123456")).status, 200);
      await assert.rejects(see(made.id), code("bulk_too_large"));
      await assert.rejects(see(made.id), code("not_found"));
    }
    // Also when it was small when it was seen first; not what the team could have when it came.
    const made = await createUrl(actor, { filename: "a.csv" });
    await putTo(made.url, "12345");
    assert.equal((await world.uploads.get(actor, made.id)).status, "stored");
    const poorer = { ...actor, limits: { ...actor.limits, bulkBytes: 4 } };
    assert.equal((await world.sources.find(poorer, made.id)).bytes, 5);
    await putTo(made.url, "123456");
    await assert.rejects(world.sources.find(actor, made.id), code("bulk_too_large"));
  });

  it("in parts that is refused leaves nothing begun, and nothing counted when it cannot be begun", async () => {
    const actor = await enterpriseActor(world.sql);
    const large = { filename: "large.csv", bytes: LIMITS.uploads.singleBytes + 1 };
    await world.sql`
      insert into uploads (id, team_id, filename, object_key, status, expires_at)
      select 'upl_' || gen_random_uuid(), ${actor.teamId}, 'x', 'k', 'open', now() + interval '1 hour'
      from generate_series(1, ${LIMITS.uploads.open})`;
    await assert.rejects(world.uploads.create(actor, large), code("limit_reached"));
    assert.deepEqual((await world.leftBelow(`teams/${actor.teamId}/`)).parts, []);
    await world.sql`delete from uploads where team_id = ${actor.teamId}`;
    const failing = createUploads({
      sql: world.sql,
      storage: {
        streams: world.streams,
        objects: {
          ...world.objects,
          startMultipart: () => Promise.reject(new Error("object storage is gone")),
        },
      },
      receive: () => Promise.reject(new Error("not here")),
      preview: () => Promise.reject(new Error("not here")),
      retentionDays: 30,
    });
    await assert.rejects(failing.create(actor, large), /object storage is gone/);
    const shown = await world.sql`select from uploads where team_id = ${actor.teamId} and removed_at is null`;
    assert.equal(shown.count, 0);
  });

  it("in parts is there when all were sent, and once it was completed", async () => {
    const actor = await enterpriseActor(world.sql);
    const made = await world.uploads.create(actor, {
      filename: "large.csv",
      bytes: LIMITS.uploads.singleBytes + 1,
    });
    assert.ok("parts" in made);
    assert.equal(
      made.parts.at(-1)?.first_byte,
      LIMITS.uploads.singleBytes + 1 - (made.parts.at(-1)?.bytes ?? 0),
    );
    await assert.rejects(world.uploads.complete(actor, made.id), /0 of \d+ bytes have been sent/);
    // As if it had been announced smaller, with parts that a test can send.
    const bytes = PART_MIN_BYTES + 10;
    await world.sql`update uploads set bytes = ${bytes} where id = ${made.id}`;
    const [{ multipart_id: multipartId } = { multipart_id: "" }] = await world.sql<
      { multipart_id: string }[]
    >`
      select multipart_id from uploads where id = ${made.id}`;
    const key = uploadKey(actor.teamId, made.id);
    const send = async (number: number, size: number) => {
      const [url = ""] = await world.objects.presignParts(
        key,
        multipartId,
        [{ number, bytes: size }],
        60_000,
        "team_1",
      );
      assert.equal((await putTo(url, randomBytes(size))).status, 200);
    };
    await send(2, 10);
    await assert.rejects(world.uploads.complete(actor, made.id), /Part 1 has not been sent/);
    await send(1, PART_MIN_BYTES);
    const [first, second] = await Promise.all([1, 2].map(() => world.uploads.complete(actor, made.id)));
    assert.deepEqual([first?.status, first?.bytes], ["stored", bytes]);
    assert.deepEqual(second, first);
    assert.deepEqual(await world.uploads.complete(actor, made.id), first);
  });
});

describe("an upload that is streamed through", () => {
  it("is there, whole, when the answer comes", async () => {
    const actor = await enterpriseActor(world.sql);
    const pieces = Array.from({ length: 30 }, () => randomBytes(700_001));
    const made = await world.uploads.receive(actor, "x.csv", bodyOf(pieces, 30 * 700_001), NEVER);
    assert.deepEqual([made.status, made.bytes, made.filename], ["stored", 30 * 700_001, "x.csv"]);
    const { key, etag } = await world.sources.find(actor, made.id);
    const stored: Buffer[] = [];
    for await (const piece of world.streams.openRead({ bucket: null, key, etag })) stored.push(piece);
    assert.ok(Buffer.concat(stored).equals(Buffer.concat(pieces)));
  });

  it("is nothing when its body breaks off or is too long, or the client goes", async () => {
    const actor = await enterpriseActor(world.sql, { bulkBytes: 50_000_000 });
    const lost = new AppError("bad_request", "The request ended before its body.");
    async function* breaking() {
      for (let i = 0; i < 20; i++) yield Buffer.alloc(1_048_576);
      throw lost;
    }
    await assert.rejects(world.uploads.receive(actor, "x", bodyOf(breaking()), NEVER), lost);
    const gone = new AbortController();
    async function* abandoned() {
      for (let i = 0; i < 20; i++) yield Buffer.alloc(1_048_576);
      gone.abort(lost);
      yield Buffer.alloc(1_048_576);
    }
    await assert.rejects(world.uploads.receive(actor, "x", bodyOf(abandoned()), gone.signal), lost);
    const tooLong = world.uploads.receive(actor, "x", bodyOf([], 50_000_001), NEVER);
    await assert.rejects(tooLong, code("bulk_too_large"));
    assert.deepEqual(await world.leftBelow(`teams/${actor.teamId}/`), { objects: [], parts: [] });
    const [{ shown } = { shown: -1 }] = await world.sql<{ shown: number }[]>`
      select count(*)::int as shown from uploads where team_id = ${actor.teamId} and removed_at is null`;
    assert.equal(shown, 0);
  });

  it("has places: so many of a team, so many at all, and each is free again", async () => {
    const { streamed, streamedPerTeam, streamedKept } = LIMITS.uploads;
    const { waiting, end } = bodyThatWaits();
    const send = (actor: Actor) => world.uploads.receive(actor, "x", bodyOf(waiting()), NEVER);
    const actors = await Promise.all(
      Array.from({ length: (streamed - streamedKept) / streamedPerTeam + streamedKept + 1 }, () =>
        enterpriseActor(world.sql),
      ),
    );
    const [last, ...others] = actors as [Actor, ...Actor[]];
    const late = others.splice(0, streamedKept);
    const sending = others.flatMap((actor) => Array.from({ length: streamedPerTeam }, () => send(actor)));
    assert.equal(sending.length, streamed - streamedKept);
    await assert.rejects(send(others[0] as Actor), code("rate_limited"));
    // The rest is for teams without an upload in progress.
    for (const [i, actor] of late.entries()) {
      sending.push(send(actor));
      if (i === 0) await assert.rejects(send(actor), code("overloaded"));
    }
    await assert.rejects(send(last), code("overloaded"));
    end();
    for (const upload of await Promise.all(sending)) assert.equal(upload.bytes, 1);
    assert.equal((await send(last)).status, "stored");
  });

  it("has places for test keys apart from the live ones", async () => {
    const { waiting, end } = bodyThatWaits();
    const live = await enterpriseActor(world.sql);
    const send = (actor: Actor) => world.uploads.receive(actor, "x", bodyOf(waiting()), NEVER);
    const test = { ...live, livemode: false };
    const sending = Array.from({ length: LIMITS.uploads.streamedPerTeam }, () => send(test));
    await assert.rejects(send(test), code("rate_limited"));
    sending.push(send(live));
    end();
    assert.equal((await Promise.all(sending)).length, LIMITS.uploads.streamedPerTeam + 1);
  });
});

describe("deleting an upload", () => {
  it("is refused while a job that has not ended reads it, and hides it at once", async () => {
    const actor = await enterpriseActor(world.sql);
    const { id } = await world.uploads.receive(actor, "x", bodyOf([Buffer.from("a")]), NEVER);
    const job = await addJob(world.sql, actor.teamId, id);
    await assert.rejects(world.uploads.remove(actor, id), code("upload_in_use"));
    await job.end("failed");
    await world.uploads.remove(actor, id);
    for (const gone of [
      () => world.uploads.get(actor, id),
      () => world.uploads.remove(actor, id),
      () => world.uploads.complete(actor, id),
      () => world.sources.find(actor, id),
    ])
      await assert.rejects(gone, code("not_found"));
    const isKept = await world.sql.begin((tx) => world.sources.keep(tx, actor.teamId, id));
    assert.equal(isKept, false);
  });

  it("waits for a submission that uses it, and is then refused", async () => {
    const actor = await enterpriseActor(world.sql);
    const { id } = await world.uploads.receive(actor, "x", bodyOf([Buffer.from("a")]), NEVER);
    let removing: Promise<void> = Promise.resolve();
    await world.sql.begin(async (tx) => {
      assert.equal(await world.sources.keep(tx, actor.teamId, id), true);
      removing = world.uploads.remove(actor, id);
      removing.catch(() => {});
      await addJob(tx, actor.teamId, id);
    });
    await assert.rejects(removing, code("upload_in_use"));
  });

  it("is another team's business only where it is its own", async () => {
    const [actor, other] = [await enterpriseActor(world.sql), await enterpriseActor(world.sql)];
    const { id } = await world.uploads.receive(actor, "x", bodyOf([Buffer.from("a")]), NEVER);
    for (const refused of [
      () => world.uploads.get(other, id),
      () => world.uploads.remove(other, id),
      () => world.uploads.complete(other, id),
      () => world.sources.find(other, id),
      () => world.uploads.get(actor, "upl_none"),
      () => world.uploads.remove(actor, "\u0000"),
    ])
      await assert.rejects(refused, code("not_found"));
    assert.equal((await world.uploads.get(actor, id)).id, id);
  });
});
