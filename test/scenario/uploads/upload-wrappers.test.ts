import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** Wrappers that HTTP clients put around a file: forms, digests, codings, ranges. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi();
  team = await deployment.team("enterprise");
});
after(closing.close);

const LIST = "email\nvalid@example.com\n";
const md5 = (text: string) => createHash("md5").update(text).digest("base64");

async function put(name: string, body: string | FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.url}/v1/uploads/${name}`, {
    method: "PUT",
    headers: { Authorization: `Bearer ${team.liveKey}`, ...headers },
    body,
  });
  return { response, body: (await response.json()) as Record<string, unknown> };
}

async function keptUploads(name: string): Promise<number> {
  const [{ count } = { count: -1 }] = await deployment.sql<{ count: number }[]>`
    select count(*)::int as count from uploads
    where team_id = ${team.id} and filename = ${name} and removed_at is null`;
  return count;
}

describe("a file in a form", () => {
  it("is taken without the form, and a job reads it", async () => {
    const form = new FormData();
    form.append("note", "for the spring campaign");
    form.append("file", new File([LIST], "on my disk.csv"));
    const { response, body } = await put("list.csv", form, { Authorization: `Bearer ${team.testKey}` });
    assert.deepEqual([response.status, body.bytes, body.filename], [201, LIST.length, "list.csv"]);
    const job = await api.send("POST", "/v1/verify/bulk", {
      key: team.testKey,
      body: { upload_id: body.id },
    });
    assert.equal(job.status, 202);
  });

  it("of which there are none or two leaves nothing", async () => {
    const two = new FormData();
    for (const name of ["a", "b"]) two.append(name, new File([LIST], `${name}.csv`));
    const none = new FormData();
    none.append("file", LIST);
    for (const form of [two, none]) {
      const { response, body } = await put("broken.csv", form);
      assert.deepEqual([response.status, body.code], [400, "bad_request"]);
    }
    assert.equal(await keptUploads("broken.csv"), 0);
  });
});

describe("a file with a digest", () => {
  it("is taken when it is right, and leaves nothing when it is not", async () => {
    assert.equal((await put("right.csv", LIST, { "Content-MD5": md5(LIST) })).response.status, 201);
    const { response, body } = await put("wrong.csv", LIST, { "Content-MD5": md5("other") });
    assert.deepEqual([response.status, body.code], [400, "bad_request"]);
    assert.deepEqual([await keptUploads("right.csv"), await keptUploads("wrong.csv")], [1, 0]);
  });
});

describe("what is not a whole file", () => {
  it("is refused and leaves nothing", async () => {
    for (const [headers, status] of [
      [{ "Content-Range": `bytes 0-${LIST.length - 1}/1000` }, 400],
      [{ "Content-Type": "application/x-www-form-urlencoded" }, 415],
    ] as const)
      assert.equal((await put("part.csv", LIST, headers)).response.status, status);
    assert.equal(await keptUploads("part.csv"), 0);
  });
});

describe("a JSON body in gzip", () => {
  it("is taken like the plain one, by routes that honour keys too", async () => {
    const send = (path: string, body: unknown) =>
      fetch(api.url + path, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${team.testKey}`,
          "Content-Type": "application/json",
          "Content-Encoding": "gzip",
          "Idempotency-Key": `gzip of ${path}`,
        },
        body: gzipSync(JSON.stringify(body)),
      });
    const list = { emails: Array.from({ length: 2_000 }, (_, i) => `valid${i}@example.com`) };
    assert.equal((await send("/v1/verify/bulk", list)).status, 202);
    const again = await send("/v1/verify/bulk", list);
    assert.deepEqual([again.status, again.headers.get("idempotent-replayed")], [202, "true"]);
    assert.equal((await send("/v1/uploads", { filename: "list.csv" })).status, 201);
  });
});
