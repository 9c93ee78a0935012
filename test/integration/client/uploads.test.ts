import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import {
  type Client,
  createClient,
  RcptError,
  type UploadProgress,
} from "../../../packages/client/src/index.ts";
import { withJson, withReset } from "../../support/scripted-server.ts";
import {
  type Answering,
  startReceiver,
  type WebhookReceiver,
  withStatus,
} from "../../support/webhook-receiver.ts";

const PART_BYTES = 4;
const LIST = "a@b.c\nd@e.f\n";

/** The service and its object storage, with parts of a few bytes. */
interface Storage {
  client: Client;
  server: WebhookReceiver;
  /** Contents of storage, by the number of the part. */
  stored: Map<number, string>;
}

type Put = (part: number, url: URL) => Answering | null;

/**
 * @param refusal of a part; null: storage takes it
 * @param others answers instead of the service's own, by path
 */
async function startStorage(
  t: TestContext,
  refusal: Put,
  others: Record<string, Answering> = {},
): Promise<Storage> {
  const server = await startReceiver();
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.port}`;
  const stored = new Map<number, string>();
  let signed = 0;
  const parts = () => {
    signed += 1;
    return Array.from({ length: LIST.length / PART_BYTES }, (_, i) => ({
      ...{ part_number: i + 1, first_byte: i * PART_BYTES, bytes: PART_BYTES },
      ...{ sent: stored.has(i + 1), url: `${url}/storage/${i + 1}?signed=${signed}` },
    }));
  };
  server.answer((received, response) => {
    const asked = new URL(received.path, url);
    const part = Number(/^\/storage\/(\d+)$/.exec(asked.pathname)?.[1]);
    if (part > 0) {
      const refused = refusal(part, asked);
      if (refused !== null) return refused(received, response);
      stored.set(part, received.body);
      return withStatus(200)(received, response);
    }
    const answers: Record<string, Answering> = {
      "/v1/uploads": withJson({ id: "upl_1", parts: parts() }, 201),
      "/v1/uploads/upl_1/parts": withJson({ data: parts() }),
      "/v1/uploads/upl_1/complete": withJson({ id: "upl_1", status: "stored" }),
      "/v1/verify/bulk": withJson({ id: "job_1", status: "queued" }, 202),
      ...others,
    };
    answers[asked.pathname]?.(received, response);
  });
  return { client: createClient({ url, key: "rcpt_test_x" }), server, stored };
}

const joined = (stored: ReadonlyMap<number, string>) =>
  [...stored]
    .sort(([a], [b]) => a - b)
    .map(([, body]) => body)
    .join("");

function openFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-client-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "list.csv");
  writeFileSync(path, LIST);
  return path;
}

/** Fails the first so many times. */
function firstTimes(times: number, failure: Answering): () => Answering | null {
  let left = times;
  return () => (left-- > 0 ? failure : null);
}

describe("an upload in parts", { concurrency: true }, () => {
  it("gets over storage that fails and URLs that have expired, and sends each part until it is there", async (t) => {
    const [fails, resets] = [firstTimes(1, withStatus(500)), firstTimes(1, withReset)];
    const { client, server, stored } = await startStorage(t, (part, url) => {
      if (part === 1) return fails();
      if (part === 2) return resets();
      return url.searchParams.get("signed") === "1" ? withStatus(403) : null;
    });
    const reports: UploadProgress[] = [];
    const onProgress = (progress: UploadProgress) => void reports.push(progress);
    const { id } = await client.bulk.submitFile(openFile(t), { onProgress, metadata: { a: "b" } });
    assert.equal(id, "job_1");
    assert.equal(joined(stored), LIST);
    assert.deepEqual(
      reports.map(({ sentBytes }) => sentBytes),
      [0, 4, 8, 12],
    );
    assert.deepEqual(reports.at(-1), { uploadId: "upl_1", sentBytes: 12, totalBytes: 12 });
    const puts = server.received.filter(({ path }) => path.startsWith("/storage/"));
    assert.equal(puts.length, 6);
    // Storage is another's: it is not shown the key.
    assert.ok(puts.every(({ headers }) => headers.authorization === undefined));
    const submitted = server.received.find(({ path }) => path === "/v1/verify/bulk");
    assert.deepEqual(JSON.parse(submitted?.body ?? ""), { upload_id: "upl_1", metadata: { a: "b" } });
  });

  it("ends with what storage says where another try is of no use", async (t) => {
    const { client, server } = await startStorage(t, (part) => (part === 2 ? withStatus(400) : null));
    const call = client.bulk.submitFile(new Blob([LIST]));
    await assert.rejects(call, (error) => error instanceof RcptError && error.status === 400);
    assert.ok(server.received.every(({ path }) => path !== "/v1/verify/bulk"));
  });

  it("says what to do when storage cannot be reached", async (t) => {
    const { client } = await startStorage(t, () => withReset);
    const call = client.bulk.submitFile(new Blob([LIST]));
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof RcptError);
      assert.equal(error.code, "network_error");
      assert.match(error.detail, /via: "service"/);
      return true;
    });
  });

  it("is not made of two states of a file", async (t) => {
    const path = openFile(t);
    const shorter = await startStorage(t, () => null);
    const options = { onProgress: () => truncateSync(path, 5) };
    await assert.rejects(shorter.client.bulk.submitFile(path, options), { code: "file_changed" });
    const other = await startStorage(t, () => null);
    await assert.rejects(other.client.bulk.submitFile(path, { resume: "upl_1" }), { code: "file_changed" });
    assert.equal(other.stored.size, 0);
  });

  it("that is resumed is done where the file is there already", async (t) => {
    const { client, stored } = await startStorage(t, () => null, {
      "/v1/uploads/upl_1/parts": withJson({ code: "not_found", status: 404 }, 404),
      "/v1/uploads/upl_1": withJson({ id: "upl_1", status: "stored", bytes: LIST.length }),
    });
    const { id } = await client.bulk.submitFile(new Blob([LIST]), { resume: "upl_1" });
    assert.equal(id, "job_1");
    assert.equal(stored.size, 0);
    await assert.rejects(client.bulk.submitFile(new Blob(["longer than that"]), { resume: "upl_1" }), {
      status: 404,
    });
  });

  it("that is resumed sends what is missing", async (t) => {
    const { client, stored, server } = await startStorage(t, () => null);
    stored.set(2, LIST.slice(4, 8));
    const reports: number[] = [];
    const onProgress = ({ sentBytes }: UploadProgress) => void reports.push(sentBytes);
    await client.bulk.submitFile(new Blob([LIST]), { resume: "upl_1", onProgress });
    assert.deepEqual(reports, [4, 8, 12]);
    assert.equal(joined(stored), LIST);
    const paths = server.received.map(({ path }) => path);
    assert.ok(!paths.includes("/v1/uploads"));
    assert.equal(paths.filter((path) => path.startsWith("/storage/")).length, 2);
  });
});
