import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { packagedBrowser } from "./packaged-browser.ts";

/** For what a page is to show, on a machine that is busy. */
const PATIENCE_MS = 120_000;
const ARGS = ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--headless=shell"];

async function launch(): Promise<Browser | null> {
  const packaged = await packagedBrowser();
  if (packaged !== null) return chromium.launch({ ...packaged, args: ARGS });
  return chromium.launch({ channel: "chrome" }).catch(() => null);
}

/** A person at a browser. */
export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** Errors and policy violations that the page reported so far. */
  complaints: string[];
}

export interface TestBrowser {
  /** false: no browser runs on this system, and the caller's tests are skipped. */
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
      // On a machine that runs other tests, a page may be slow.
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("console", (message) => {
        // The browser also logs every refusal of the API as an error.
        if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
          complaints.push(message.text());
      });
      const visitor = { page, context, complaints };
      visitors.push(visitor);
      return visitor;
    },
  };
}
