import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createUploadRemoval } from "../../../../src/features/uploads/removal.ts";
import { uploadKey } from "../../../../src/features/uploads/upload-sql.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createClosing } from "../../../support/store.ts";
import { addJob, enterpriseActor, openUploads, type UploadsWorld } from "../../../support/uploads.ts";

const closing = createClosing();
let world: UploadsWorld;
let actor: Actor;

before(async () => {
  world = await openUploads(closing);
});
after(closing.close);
beforeEach(async () => {
  actor = await enterpriseActor(world.sql);
});

const sweep = () => world.removal.sweep(() => false);
const keyOf = (id: string) => uploadKey(actor.teamId, id);

async function stored(): Promise<string> {
  async function* read() {
    yield Buffer.from("email\n");
  }
  const body = { declaredBytes: null, read };
  return (await world.uploads.receive(actor, "x", body, new AbortController().signal)).id;
}

/** As if so much time had passed for it. */
async function age(id: string, interval: string): Promise<void> {
  await world.sql`
    update uploads set created_at = created_at - ${interval}::interval, expires_at = expires_at - ${interval}::interval,
      removed_at = removed_at - ${interval}::interval where id = ${id}`;
}

async function rowOf(id: string) {
  const [row] = await world.sql<{ status: string; hidden: boolean; filename: string }[]>`
    select status, removed_at is not null as hidden, filename from uploads where id = ${id}`;
  return row ?? null;
}

const isThere = async (id: string) => (await world.streams.head({ bucket: null, key: keyOf(id) })) !== null;

describe("the removal of uploads", () => {
  it("removes unfinished uploads, with their parts, and keeps files that were completed without our knowledge", async () => {
    const cut = await world.uploads.create(actor, { filename: "in parts", bytes: 6_000_000_000 });
    const never = await world.uploads.create(actor, { filename: "never sent" });
    const sent = await world.uploads.create(actor, { filename: "sent" });
    const fresh = await world.uploads.create(actor, { filename: "fresh" });
    assert.ok("url" in sent);
    assert.equal((await fetch(sent.url, { method: "PUT", body: "email\n" })).status, 200);
    for (const { id } of [cut, never, sent]) await age(id, "37 hours");
    await sweep();
    assert.equal((await rowOf(cut.id))?.hidden, true);
    assert.equal((await rowOf(never.id))?.hidden, true);
    assert.deepEqual(await rowOf(sent.id), { status: "stored", hidden: false, filename: "sent" });
    assert.deepEqual(await rowOf(fresh.id), { status: "open", hidden: false, filename: "fresh" });
    assert.deepEqual((await world.leftBelow(keyOf(cut.id))).parts, [keyOf(cut.id)]);
    await age(cut.id, "1 hour");
    await age(never.id, "1 hour");
    await sweep();
    assert.deepEqual(await world.leftBelow(keyOf(cut.id)), { objects: [], parts: [] });
    assert.deepEqual([await rowOf(cut.id), await rowOf(never.id)], [null, null]);
    assert.equal(await isThere(sent.id), true);
  });

  it("takes what is past its retention, but for what a job has yet to read", async () => {
    const plain = await stored();
    const read = await stored();
    const cancelled = await stored();
    const failed = await stored();
    const young = await stored();
    const job = await addJob(world.sql, actor.teamId, read);
    await (await addJob(world.sql, actor.teamId, cancelled)).end("cancelled");
    await (await addJob(world.sql, actor.teamId, failed)).end("failed");
    for (const id of [plain, read, cancelled, failed]) await age(id, "31 days");
    await age(young, "29 days");
    await sweep();
    const hidden = async () => {
      const rows = await Promise.all([plain, read, cancelled, failed, young].map(rowOf));
      return rows.map((row) => row?.hidden);
    };
    assert.deepEqual(await hidden(), [true, false, false, true, false]);
    await job.end("completed");
    await sweep();
    assert.deepEqual(await hidden(), [true, true, false, true, false]);
    assert.equal(await isThere(plain), true, "whoever reads it still has a while");
    await age(plain, "1 hour");
    await sweep();
    assert.equal(await isThere(plain), false);
    assert.equal(await rowOf(plain), null);
  });

  it("keeps the row of a deleted one until no URL can write its object any more, and looks again then", async () => {
    const made = await world.uploads.create(actor, { filename: "secret name.csv" });
    assert.ok("url" in made);
    await fetch(made.url, { method: "PUT", body: "email\n" });
    await world.uploads.remove(actor, made.id);
    await age(made.id, "1 hour");
    await sweep();
    assert.equal(await isThere(made.id), false);
    assert.deepEqual(await rowOf(made.id), { status: "open", hidden: true, filename: "" });
    await fetch(made.url, { method: "PUT", body: "again\n" });
    await sweep();
    assert.equal(await isThere(made.id), false);
    assert.notEqual(await rowOf(made.id), null);
    await fetch(made.url, { method: "PUT", body: "and again\n" });
    await age(made.id, "36 hours");
    await sweep();
    assert.equal(await isThere(made.id), false);
    assert.equal(await rowOf(made.id), null);
  });

  it("leaves the row of what could not be removed for another try", async () => {
    const id = await stored();
    await world.uploads.remove(actor, id);
    await age(id, "40 hours");
    world.failDeletions(true);
    await sweep();
    assert.notEqual(await rowOf(id), null);
    world.failDeletions(false);
    await sweep();
    assert.equal(await rowOf(id), null);
  });

  it("goes on with the next when one cannot be removed", async () => {
    const poison = await stored();
    await world.uploads.remove(actor, poison);
    const next = await stored();
    await world.uploads.remove(actor, next);
    for (const id of [poison, next]) await age(id, "40 hours");
    world.failDeletions(keyOf(poison));
    await sweep();
    world.failDeletions(false);
    assert.notEqual(await rowOf(poison), null);
    assert.equal(await rowOf(next), null);
    await sweep();
    assert.equal(await rowOf(poison), null);
  });

  it("looks at what a URL may have filled: gives up what is too large, and removes what came after the deletion", async () => {
    // The teams of the tests before have some too: a round looks at a part of them.
    const rounds = async () => {
      for (let i = 0; i < 5; i++) await sweep();
    };
    await world.sql`update teams set limits = '{"bulkBytes": 10}' where id = ${actor.teamId}`;
    const create = async (filename: string) => {
      const made = await world.uploads.create(actor, { filename });
      assert.ok("url" in made);
      return { ...made, put: (body: string) => fetch(made.url, { method: "PUT", body }) };
    };
    const [fits, large, grown, gone] = [
      await create("fits"),
      await create("large"),
      await create("grown"),
      await create("gone"),
    ];
    await fits.put("1234567890");
    await large.put("12345678901");
    await grown.put("1");
    assert.equal((await world.uploads.get(actor, grown.id)).status, "stored");
    await grown.put("12345678901");
    await world.uploads.remove(actor, gone.id);
    // Its removal is a while ago, its URL holds.
    await world.sql`update uploads set removed_at = now() - interval '1 hour' where id = ${gone.id}`;
    await sweep();
    await gone.put("1");
    await rounds();
    const hidden = await Promise.all([fits, large, grown].map(async ({ id }) => (await rowOf(id))?.hidden));
    assert.deepEqual(hidden, [false, true, true]);
    assert.equal(await isThere(gone.id), false);
    assert.equal((await rowOf(fits.id))?.status, "stored");
    for (const { id } of [large, grown])
      await world.sql`update uploads set removed_at = now() - interval '1 hour' where id = ${id}`;
    await rounds();
    assert.deepEqual(await Promise.all([fits, large, grown].map(({ id }) => isThere(id))), [
      true,
      false,
      false,
    ]);
  });

  it("keeps an upload that was resumed after it was found to have expired", async () => {
    const made = await world.uploads.create(actor, { filename: "a", bytes: 6_000_000_000 });
    await age(made.id, "37 hours");
    const head = async () => {
      await world.uploads.listParts(actor, made.id);
      return null;
    };
    const removal = createUploadRemoval({
      sql: world.sql,
      streams: { head },
      deleteBelow: async () => true,
      log: createLog("silent"),
      retentionDays: 1,
    });
    await removal.sweep(() => false);
    assert.equal((await rowOf(made.id))?.hidden, false);
  });
});
