import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { bundle } from "../../../scripts/image/bundle.ts";
import { assembleTree } from "../../../scripts/image/tree.ts";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import type { VerificationResult } from "../../../src/features/verify/answer/verification-result.ts";
import { createProcesses, type MainProcess } from "../../support/processes.ts";
import { createDeployment, type Team, type TestDeployment } from "../../support/service.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * The contents of the image: every role of the build, run as in a deployment, with only those packages and files that
 * are declared as read. One site is reached through a proxy.
 */
const ROOT = resolve(import.meta.dirname, "../../..");
const closing = createClosing();
let deployment: TestDeployment;
let team: Team;
let roles: MainProcess[];
let socks: SocksServer;
let url: string;
let tree: string;

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-built-"));
  closing.after(() => rmSync(folder, { recursive: true, force: true }));
  const { platform, arch, versions } = process;
  tree = join(folder, "app");
  await bundle(ROOT, join(folder, "dist"));
  const target = { platform, arch, abi: versions.modules };
  assembleTree({ root: ROOT, dist: join(folder, "dist"), out: tree, target });
  socks = await createSocksServer();
  closing.after(() => socks.close());
  const shaping = join(folder, "shaping.json");
  const sites = { "lockstep.test": { ways: [`proxy:127.0.0.1:${socks.port}`] } };
  writeFileSync(shaping, JSON.stringify({ default: { ways: ["direct"] }, sites }));
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  team = await deployment.team("enterprise");
  const processes = createProcesses();
  closing.after(() => processes.close());
  const settings = {
    ...deployment.settings,
    ...{ CHECK_THREADS: "1", SHAPING_FILE: shaping },
    SMTP_PROXIES: `socks5://127.0.0.1:${socks.port}#helo=beyond.rcpt.test`,
  };
  roles = ["api", "bulk", "relay"].map((ROLE) =>
    processes.start({ ...settings, ROLE }, join(tree, "dist/src/main.js")),
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

  it("asks a mail server through a proxy", async () => {
    const found = await jsonOf<VerificationResult>("/v1/verify?email=exists@lockstep.test");
    assert.equal(found.verdict, "valid", JSON.stringify(found));
    assert.ok(socks.asked.length > 0);
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

  it("signs the URL of an upload, which takes a file", async () => {
    const list = "exists18@plain.test\r\n";
    const body = JSON.stringify({ filename: "list.csv", bytes: list.length });
    const opened = await jsonOf<{ url: string; headers: Record<string, string> }>("/v1/uploads", {
      method: "POST",
      body,
    });
    const sent = await fetch(opened.url, { method: "PUT", body: list, headers: opened.headers });
    assert.equal(sent.status, 200, await sent.text());
  });

  it("knows the common passwords", async () => {
    const register = (password: string) => {
      const body = JSON.stringify({ email: "new@example.com", password, team_name: "Built" });
      return ask("/v1/auth/register", { method: "POST", body });
    };
    const refused = await register("trustno1trustno1");
    assert.equal(refused.status, 400, await refused.text());
    const registered = await register("correct horse battery");
    assert.equal(registered.status, 201, await registered.text());
  });

  it("has its files: the documents, the reference and the description", async () => {
    const page = await (await ask("/docs/reference")).text();
    const [, script = ""] = /src="([^"]+swagger-ui-bundle\.js)"/.exec(page) ?? [];
    const sent = await ask(`/docs/${script}`);
    assert.equal(sent.status, 200, page);
    assert.ok((await sent.text()).length > 100_000);
    assert.match(await (await ask("/docs/api")).text(), /<h1 id="api-guide"/);
    assert.ok("paths" in (await jsonOf<object>("/openapi.json")));
  });

  it("has the licences of what is in it", () => {
    const licences = readFileSync(join(tree, "LICENSES.txt"), "utf8");
    for (const name of [
      "uWebSockets.js",
      "valibot",
      "@aws-sdk/client-s3",
      "swagger-ui-dist",
      "react",
      "minisearch",
    ])
      assert.ok(licences.includes(`\n${name} `), name);
    assert.match(readFileSync(join(tree, "LICENSE"), "utf8"), /MIT License/);
  });

  it("stops on SIGTERM", async () => {
    for (const role of roles) role.kill("SIGTERM");
    for (const role of roles) assert.deepEqual(await role.exited, { code: 0, signal: null }, role.stderr());
  });

  it("ends a command on a signal, by a handler: process 1 of a container ignores signals without one", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const DATABASE_URL = `postgres://u:p@127.0.0.1:${(silent.address() as AddressInfo).port}/x`;
    const child = spawn(process.execPath, [join(tree, "dist/src/main.js"), "migrate"], {
      env: { ...deployment.settings, DATABASE_URL },
      stdio: "ignore",
    });
    closing.after(() => void child.kill("SIGKILL"));
    const exited = once(child, "exit");
    // The process may also end before it connects.
    await Promise.race([once(silent, "connection"), exited]);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [143, null]);
    silent.close();
  });
});
