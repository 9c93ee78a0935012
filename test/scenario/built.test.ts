import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { bundle } from "../../scripts/build/bundle.ts";
import type { BulkJob } from "../../src/services/bulk/view.ts";
import type { VerificationResult } from "../../src/services/verify/verification-result.ts";
import { createProcesses, type MainProcess } from "../support/processes.ts";
import { createDeployment, type Team, type TestDeployment } from "../support/service.ts";
import { createClosing } from "../support/store.ts";
import { until } from "../support/until.ts";

/** What `npm run build` makes: every role of it, as a deployment runs them. */
const ROOT = resolve(import.meta.dirname, "../..");
const closing = createClosing();
let deployment: TestDeployment;
let team: Team;
let roles: MainProcess[];
let url: string;

before(async () => {
  mkdirSync(join(ROOT, ".rcpt"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".rcpt/built-"));
  closing.after(() => rmSync(folder, { recursive: true, force: true }));
  await bundle(ROOT, folder);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  team = await deployment.team("enterprise");
  const processes = createProcesses();
  closing.after(() => processes.close());
  roles = ["api", "bulk", "relay"].map((ROLE) =>
    processes.start({ ...deployment.settings, ROLE, CHECK_THREADS: "1" }, join(folder, "src/main.js")),
  );
  [url = ""] = await Promise.all(roles.map(({ ready }) => ready));
});
after(closing.close);

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${team.liveKey}`, "Content-Type": "application/json" };
  return fetch(url + path, { ...init, headers });
}

async function jsonOf<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await ask(path, init);
  const text = await response.text();
  assert.ok(response.ok, text);
  return JSON.parse(text) as T;
}

describe("the built service", () => {
  it("asks a mail server, from a thread", async () => {
    const found = await jsonOf<VerificationResult>("/v1/verify?email=exists@plain.test");
    assert.equal(found.verdict, "valid", JSON.stringify(found));
  });

  it("knows the lists", async () => {
    const found = await jsonOf<VerificationResult>("/v1/verify?email=somebody@mailinator.com");
    assert.equal(found.checks.disposable.is_disposable, true, JSON.stringify(found));
  });

  it("works on jobs", async () => {
    const body = JSON.stringify({ emails: ["exists17@plain.test", "missing@plain.test", "not an address"] });
    const { id } = await jsonOf<BulkJob>("/v1/verify/bulk", { method: "POST", body });
    const job = await until(
      "the job ends",
      async () => {
        const seen = await jsonOf<BulkJob>(`/v1/bulk-jobs/${id}`);
        return ["completed", "failed"].includes(seen.status) && seen;
      },
      90_000,
    );
    assert.equal(job.status, "completed", JSON.stringify(job));
    assert.deepEqual(job.verdicts, { valid: 1, invalid: 2, risky: 0, unknown: 0 });
    const results = await (await ask(`/v1/bulk-jobs/${id}/results`)).text();
    assert.equal(results.trim().split("\r\n").length, 4, results);
  });

  it("has its files: the reference page and the description", async () => {
    const page = await (await ask("/docs")).text();
    const [, script = ""] = /src="(docs\/[^"]+swagger-ui-bundle\.js)"/.exec(page) ?? [];
    const sent = await ask(`/${script}`);
    assert.equal(sent.status, 200, page);
    assert.ok((await sent.text()).length > 100_000);
    assert.ok("paths" in (await jsonOf<object>("/openapi.json")));
  });

  it("stops when it is told to", async () => {
    for (const role of roles) role.kill("SIGTERM");
    for (const role of roles) assert.deepEqual(await role.exited, { code: 0, signal: null }, role.stderr());
  });
});
