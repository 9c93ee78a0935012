import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { chromium } from "playwright-core";

const ROOT = resolve(import.meta.dirname, "../..");
const CACHE = join(process.env.RCPT_TEST_ROOT ?? ROOT, ".rcpt/cache");
/** For what a page is to show, on a machine that is busy. */
const PATIENCE_MS = 120_000;
const ARGS = ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--headless=shell"];

/** The browser of the packages, unpacked once into the project's cache; null: there is none for this system. */
async function packagedBrowser(): Promise<string | null> {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const { default: packaged } = await import("@sparticuz/chromium");
  const kept = join(CACHE, "chromium-143.0.4/chromium");
  if (existsSync(kept)) return kept;
  mkdirSync(dirname(kept), { recursive: true });
  const folder = mkdtempSync(join(CACHE, "chromium-new-"));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    // Another file of the tests may do the same: the later one puts the same in its place.
    renameSync(await packaged.executablePath(), kept);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}

async function launch(): Promise<Browser | null> {
  const executablePath = await packagedBrowser();
  if (executablePath !== null) return chromium.launch({ executablePath, args: ARGS });
  return chromium.launch({ channel: "chrome" }).catch(() => null);
}

/** A person at a browser. */
export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** What the page complained of so far: errors, and what its policy forbade. */
  complaints: string[];
}

export interface TestBrowser {
  /** null: no browser runs on this system, and the caller's tests are skipped. */
  readonly isThere: boolean;
  /** A person with a fresh browser, whose pages must not complain. */
  visitor(options?: { width?: number; dark?: boolean; headers?: Record<string, string> }): Promise<Visitor>;
}

/** A real browser for the tests of the calling file; each visitor's complaints fail the file at its end. */
export function useBrowser(): TestBrowser {
  let browser: Browser | null = null;
  const visitors: Visitor[] = [];
  before(async () => {
    browser = await launch();
    if (browser === null) console.log("# no browser runs here: tests of pages are skipped");
  });
  after(async () => {
    await browser?.close();
    for (const { complaints } of visitors) assert.deepEqual(complaints, []);
  });
  return {
    get isThere() {
      return browser !== null;
    },
    async visitor({ width = 1_280, dark = false, headers = {} } = {}) {
      if (browser === null) throw new Error("no browser runs here");
      const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme: dark ? "dark" : "light",
        locale: "en-GB",
        timezoneId: "UTC",
        extraHTTPHeaders: headers,
      });
      // Beside other tests a page may take its time.
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("console", (message) => {
        // What the API refuses is told by the browser too.
        if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
          complaints.push(message.text());
      });
      const visitor = { page, context, complaints };
      visitors.push(visitor);
      return visitor;
    },
  };
}
