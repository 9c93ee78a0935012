import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { killed } from "../../support/bulk-scenario.ts";
import { useLists } from "../../support/lists-on-disk.ts";
import { createPathProxy, type PathProxy } from "../../support/path-proxy.ts";
import { PASSWORD } from "../../support/portal.ts";
import { createProcesses, type MainProcess, type Processes } from "../../support/processes.ts";
import { type Fault, startFaultyS3 } from "../../support/s3-faults.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** A list of 100,000 rows from the file to its results, with all that may happen in between. */
const ROWS = 100_000;
/** Shards that are written before the worker is held up. */
const SHARDS_FIRST = 3;

const browser = useBrowser();
const lists = useLists();
const closing = createClosing();
let deployment: TestDeployment;
let processes: Processes;
let proxy: PathProxy;
let api: MainProcess;

async function startApi(): Promise<MainProcess> {
  const started = processes.start({
    ...deployment.settings,
    ROLE: "api",
    PUBLIC_URL: proxy.url,
    TRUSTED_PROXIES: "127.0.0.1",
  });
  proxy.forwardTo(await started.ready);
  return started;
}

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  processes = createProcesses();
  closing.after(() => processes.close());
  proxy = await createPathProxy("/base");
  closing.after(() => proxy.close());
  api = await startApi();
});
after(closing.close);

/** An account whose lists are answered without asking mail servers. */
async function account(): Promise<string> {
  const { session, ownerEmail } = await deployment.team("pro");
  const answer = await fetch(`${proxy.url}/v1/auth/password`, {
    method: "POST",
    headers: { Authorization: `Bearer ${session}`, "Content-Type": "application/json" },
    body: JSON.stringify({ new_password: PASSWORD }),
  });
  assert.equal(answer.status, 204);
  return ownerEmail;
}

/** A worker that is held up after its first results, until it is let go. */
async function startHeldWorker(): Promise<() => void> {
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let shards = 0;
  const storage = await startFaultyS3(deployment.settings.S3_ENDPOINT ?? "", ({ method, url }): Fault => {
    if (method !== "PUT" || !url.includes("/shards/")) return null;
    shards += 1;
    return shards > SHARDS_FIRST ? { until: gone } : null;
  });
  closing.after(() => storage.close());
  await deployment.startBulk({ S3_ENDPOINT: storage.endpoint });
  return letGo;
}

/** Three parts: each row has a note. */
function largeList(): string {
  const note = "x".repeat(90);
  const rows = Array.from({ length: ROWS }, (_, i) => `user${i}@plain.test,${note}`);
  return lists.write("all customers.csv", `email,note\n${rows.join("\n")}\n`);
}

async function uploadWithReload(page: Page): Promise<void> {
  const list = largeList();
  await page.route(/partNumber=[23]/, () => {
    // On its way until the page is gone.
  });
  await page.getByLabel("Drop a file here, or choose one").setInputFiles(list);
  await page.getByText(/^Sending: 5\.2 MB of/).waitFor();
  await page.reload();
  await page.unrouteAll();
  await page.getByLabel("Go on with the same file").setInputFiles(list);
  await page.getByText("Addresses are read from").waitFor();
}

async function lineCount(path: string): Promise<number> {
  let lines = 0;
  for await (const piece of createReadStream(path))
    for (const byte of piece as Buffer) if (byte === 10) lines += 1;
  return lines;
}

describe("a list of 100,000 rows", () => {
  it("survives a reload, a lost connection and a killed API, and all of its rows are there", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const email = await account();
    const letGo = await startHeldWorker();
    const { page, context } = await browser.visitor();
    await page.goto(`${proxy.url}/lists/new`);
    await page.getByLabel("Email").waitFor();
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "New list" }).waitFor();
    await uploadWithReload(page);
    await page.getByRole("button", { name: /^Verify about [\d,]+ rows$/ }).click();
    const progress = page.getByText(/^[1-9][\d,]* of 100,000 rows answered$/);
    await progress.waitFor();

    const lost = page.getByText(/^The connection is lost/);
    await context.setOffline(true);
    await lost.waitFor();
    await context.setOffline(false);
    await lost.waitFor({ state: "detached" });

    await killed(api);
    await lost.waitFor();
    api = await startApi();
    await lost.waitFor({ state: "detached" });
    await page.reload();
    await progress.waitFor();

    letGo();
    await page.getByText("Completed").first().waitFor();
    await page.getByText(/^The first 1,000 are shown/).waitFor();
    assert.equal(await page.getByRole("region", { name: "Results by row" }).getByRole("row").count(), 1_001);
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "All rows as CSV" }).click();
    assert.equal(await lineCount(await (await saved).path()), ROWS + 1);
  });
});
