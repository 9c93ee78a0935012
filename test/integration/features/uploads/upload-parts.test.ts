import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { uploadKey } from "../../../../src/features/uploads/upload-sql.ts";
import { createUploads } from "../../../../src/features/uploads/uploads.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createClosing } from "../../../support/store.ts";
import { enterpriseActor, openUploads, type UploadsWorld } from "../../../support/uploads.ts";

const PART_MIN_BYTES = 5_242_880;
const closing = createClosing();
let world: UploadsWorld;

before(async () => {
  world = await openUploads(closing);
});
after(closing.close);

const code = (wanted: string) => (error: unknown) => error instanceof AppError && error.code === wanted;

const putTo = (url: string, body: Buffer | string) =>
  fetch(url, { method: "PUT", body: typeof body === "string" ? body : new Uint8Array(body) });

describe("an upload in parts of a size that the client asks for", () => {
  const BYTES = 2 * PART_MIN_BYTES + 10;
  const create = (actor: Actor, input: { bytes?: number; part_bytes?: number } = {}) =>
    world.uploads.create(actor, { filename: "a.csv", bytes: BYTES, part_bytes: PART_MIN_BYTES, ...input });

  async function createParts(actor: Actor) {
    const made = await create(actor);
    assert.ok("parts" in made);
    return made;
  }

  it("is resumed by new URLs for what object storage does not have", async () => {
    const actor = await enterpriseActor(world.sql);
    const { parts, ...made } = await createParts(actor);
    assert.deepEqual(
      parts.map((part) => [part.part_number, part.first_byte, part.bytes]),
      [
        [1, 0, PART_MIN_BYTES],
        [2, PART_MIN_BYTES, PART_MIN_BYTES],
        [3, 2 * PART_MIN_BYTES, 10],
      ],
    );
    const file = randomBytes(BYTES);
    const bodyOf = (part: { first_byte: number; bytes: number }) =>
      file.subarray(part.first_byte, part.first_byte + part.bytes);
    const [, second] = parts;
    assert.equal((await putTo(second?.url ?? "", bodyOf(second ?? assert.fail()))).status, 200);
    // Its first URLs are no longer valid, and neither is the upload, but it has not been removed.
    await world.sql`update uploads set expires_at = now() - interval '1 hour' where id = ${made.id}`;
    const { data, expires_at } = await world.uploads.listParts(actor, made.id);
    assert.deepEqual(
      data.map(({ url, ...part }) => [part, url === null]),
      parts.map(({ url: _, ...part }, i) => [{ ...part, sent: i === 1 }, i === 1]),
    );
    assert.equal((await world.uploads.get(actor, made.id)).expires_at, expires_at);
    for (const part of data)
      if (part.url !== null) assert.equal((await putTo(part.url, bodyOf(part))).status, 200);
    const sent = await world.uploads.listParts(actor, made.id);
    assert.ok(sent.data.every(({ sent, url }) => sent && url === null));
    assert.equal((await world.uploads.complete(actor, made.id)).status, "stored");
    const { key, etag } = await world.sources.find(actor, made.id);
    const stored: Buffer[] = [];
    for await (const piece of world.streams.openRead({ bucket: null, key, etag })) stored.push(piece);
    assert.ok(Buffer.concat(stored).equals(file));
    await assert.rejects(world.uploads.listParts(actor, made.id), code("not_found"));
  });

  it("has not been sent a part that has another size", async () => {
    const actor = await enterpriseActor(world.sql);
    const made = await createParts(actor);
    const [{ multipart_id: multipartId } = { multipart_id: "" }] = await world.sql<
      { multipart_id: string }[]
    >`select multipart_id from uploads where id = ${made.id}`;
    const key = uploadKey(actor.teamId, made.id);
    const [wrong = ""] = await world.objects.presignParts(
      key,
      multipartId,
      [{ number: 3, bytes: 9 }],
      60_000,
      "team_1",
    );
    assert.equal((await putTo(wrong, "123456789")).status, 200);
    const { data } = await world.uploads.listParts(actor, made.id);
    assert.deepEqual([data[2]?.sent, data[2]?.url === null], [false, false]);
  });

  it("expires later when its parts are listed, within a bound, and its URLs with it", async () => {
    const actor = await enterpriseActor(world.sql);
    const { presignedMs, openMs } = LIMITS.uploads;
    const made = await createParts(actor);
    const age = (ms: number) => world.sql`
      update uploads set created_at = now() - ${ms} * interval '1 millisecond', expires_at = now() where id = ${made.id}`;
    const validS = async () => {
      const { data, expires_at } = await world.uploads.listParts(actor, made.id);
      const [row] = await world.sql<[{ s: number }]>`
        select extract(epoch from ${expires_at}::text::timestamptz - now())::float8 as s`;
      const signedS = Number(new URL(data[0]?.url ?? "").searchParams.get("X-Amz-Expires"));
      assert.ok(signedS <= Math.ceil(row.s) + 60, `valid for ${signedS} s, open for ${row.s} s`);
      return signedS;
    };
    assert.equal(await validS(), presignedMs / 1_000);
    await age(openMs - 600_000);
    const lastS = await validS();
    assert.ok(lastS > 500 && lastS <= 600, String(lastS));
    await age(openMs);
    await assert.rejects(world.uploads.listParts(actor, made.id), /open for too long/);
  });

  it("counts for the team's limits again when it had expired", async () => {
    const actor = await enterpriseActor(world.sql);
    const made = await createParts(actor);
    await world.sql`
      insert into uploads (id, team_id, filename, object_key, status, expires_at, livemode)
      select 'upl_' || gen_random_uuid(), ${actor.teamId}, 'x', 'k', 'open', now() + interval '1 hour', ${actor.livemode}
      from generate_series(1, ${LIMITS.uploads.open - 1})`;
    await world.uploads.listParts(actor, made.id);
    await world.sql`update uploads set expires_at = now() where id = ${made.id}`;
    await world.uploads.create(actor, { filename: "b.csv", bytes: 1 });
    await assert.rejects(world.uploads.listParts(actor, made.id), code("limit_reached"));
  });

  it("has no parts to be sent in one request, after its parts were removed, or by another team", async () => {
    const actor = await enterpriseActor(world.sql);
    const single = await world.uploads.create(actor, { filename: "a.csv", bytes: 5 });
    await assert.rejects(world.uploads.listParts(actor, single.id), /sent in one request/);
    const made = await createParts(actor);
    const stranger = await enterpriseActor(world.sql);
    await assert.rejects(world.uploads.listParts(stranger, made.id), code("not_found"));
    await world.sql`update uploads set multipart_id = gen_random_uuid()::text where id = ${made.id}`;
    await assert.rejects(world.uploads.listParts(actor, made.id), /have been removed/);
    await assert.rejects(createUploads(null).listParts(actor, made.id), code("feature_unconfigured"));
  });

  it("fits the team's limits when it is completed, though it had expired", async () => {
    const actor = await enterpriseActor(world.sql);
    const { parts, ...made } = await createParts(actor);
    for (const { url, bytes } of parts) assert.equal((await putTo(url, Buffer.alloc(bytes))).status, 200);
    await world.sql`update uploads set expires_at = now() where id = ${made.id}`;
    await world.sql`
      insert into uploads (id, team_id, filename, object_key, status, expires_at, livemode)
      select 'upl_' || gen_random_uuid(), ${actor.teamId}, 'x', 'k', 'stored', now(), ${actor.livemode}
      from generate_series(1, ${LIMITS.uploads.stored})`;
    await assert.rejects(world.uploads.complete(actor, made.id), code("limit_reached"));
    await world.sql`delete from uploads where team_id = ${actor.teamId} and object_key = 'k'`;
    assert.equal((await world.uploads.complete(actor, made.id)).status, "stored");
  });

  it("is completed anew where a part came while it was", async () => {
    const actor = await enterpriseActor(world.sql);
    const { parts, ...made } = await createParts(actor);
    for (const { url, bytes } of parts) assert.equal((await putTo(url, Buffer.alloc(bytes))).status, 200);
    const [first = assert.fail()] = parts;
    const { objects, streams, sql } = world;
    let isFirst = true;
    const uploads = createUploads({
      ...{ sql, receive: () => assert.fail(), preview: () => assert.fail(), retentionDays: 1 },
      storage: {
        streams,
        objects: {
          ...objects,
          async completeMultipart(...args) {
            if (isFirst) await putTo(first.url, Buffer.alloc(first.bytes, 1));
            isFirst = false;
            return objects.completeMultipart(...args);
          },
        },
      },
    });
    await assert.rejects(uploads.complete(actor, made.id), code("upload_missing"));
    assert.equal((await uploads.complete(actor, made.id)).status, "stored");
  });
});
