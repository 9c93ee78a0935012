import assert from "node:assert/strict";
import { afterEach, before } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { atEndOfProcess } from "../../scripts/test/at-end.ts";
import { launchBrowser } from "./packaged-browser.ts";

/** For what a page is to show, on a machine that is busy. */
const PATIENCE_MS = 120_000;
/** Width of a visitor's window, in pixels; heights are the same in all. */
export const WINDOW = { width: 1_280, height: 900 } as const;

/** A person at a browser. */
export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** Errors and policy violations that the page reported so far. */
  complaints: string[];
}

/** The window of visitors that come one after the other: a new one costs a process and the compilation of all scripts. */
interface Window {
  page: Page;
  context: BrowserContext;
  /** null: empty, since its visitor has left. */
  visitor: Visitor | null;
}

/** Language and time zone of a visitor's system. */
type Home = Required<Pick<BrowserContextOptions, "locale" | "timezoneId">>;
const HOME: Home = { locale: "en-GB", timezoneId: "UTC" };

export interface VisitorOptions {
  /**
   * The test changes the browser itself (its clock, scripts that run before a page's), so that it serves no other visitor.
   */
  isAltered?: boolean;
  /** Absent: that of most visitors. */
  home?: Home;
}

export interface TestBrowser {
  /** false: no browser runs on this system, and the caller's tests are skipped. */
  readonly isThere: boolean;
  /** A person whose browser keeps nothing of earlier ones, until the test ends. The page must not complain. */
  visitor(options?: VisitorOptions): Promise<Visitor>;
}

async function openWindow(browser: Browser, home: Home): Promise<Window> {
  const context = await browser.newContext({
    viewport: WINDOW,
    colorScheme: "light",
    // A spinner that turns has the window drawn 60 times a second.
    reducedMotion: "reduce",
    ...home,
  });
  // On a machine that runs other tests, a page may be slow.
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const window: Window = { page, context, visitor: null };
  page.on("pageerror", (error) => window.visitor?.complaints.push(String(error)));
  page.on("console", (message) => {
    // The browser also logs every refusal of the API as an error.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      window.visitor?.complaints.push(message.text());
  });
  return window;
}

/** Of the portal in tests. */
const PORTAL_HOST = "127.0.0.1";
/** A page without content. With another opener policy than the portal's the browser would change its process, twice. */
const EMPTY = {
  contentType: "text/html",
  headers: { "Cross-Origin-Opener-Policy": "same-origin" },
  body: "",
};

/**
 * Leaves nothing of its visitor in a window, which stays at the portal's origin.
 * @throws Error when the window is elsewhere, or its page does not answer
 */
async function empty({ page, context }: Window): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.setOffline(false);
  for (const event of ["request", "response"] as const) page.removeAllListeners(event);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.unrouteAll({ behavior: "ignoreErrors" });
  if (new URL(page.url()).hostname !== PORTAL_HOST) throw new Error(`the window has gone to ${page.url()}`);
  const url = new URL("/empty", page.url()).href;
  await page.route(url, (route) => route.fulfill(EMPTY));
  await page.goto(url);
  await page.unrouteAll();
  await page.evaluate("localStorage.clear(); sessionStorage.clear()");
  await context.clearCookies();
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(WINDOW);
}

/** The browser of all files of the process, with the windows that visitors have left. */
interface SharedBrowser {
  /** null: none runs on this system. */
  browser: Browser | null;
  free: Window[];
}
let shared: Promise<SharedBrowser> | null = null;

/** Launches it for the first file, and again after one that it did not survive. */
async function sharedBrowser(): Promise<SharedBrowser> {
  const before = await shared;
  if (before === null || before.browser?.isConnected() === false) {
    shared = launchBrowser().then((browser) => ({ browser, free: [] }));
    const { browser } = await shared;
    if (browser === null) console.log("# no browser runs here: tests of pages are skipped");
    else atEndOfProcess(() => browser.close());
  }
  return shared as Promise<SharedBrowser>;
}

/** A real browser for the tests of the calling file; a test fails by the complaints of its visitors' pages. */
export function useBrowser(): TestBrowser {
  let browser: Browser | null = null;
  let free: Window[] = [];
  let used: { window: Window; isAltered: boolean }[] = [];
  before(async () => {
    ({ browser, free } = await sharedBrowser());
  });
  afterEach(async () => {
    const left = used;
    used = [];
    const complaints = left.flatMap(({ window }) => window.visitor?.complaints ?? []);
    for (const { window, isAltered } of left) {
      window.visitor = null;
      const isEmpty =
        !isAltered &&
        (await empty(window)
          .then(() => true)
          .catch(() => false));
      if (isEmpty) free.push(window);
      else await window.context.close();
    }
    assert.deepEqual(complaints, []);
  });
  return {
    get isThere() {
      return browser !== null;
    },
    async visitor({ home = HOME, isAltered = home !== HOME } = {}) {
      if (browser === null) throw new Error("no browser runs here");
      const window = (isAltered ? undefined : free.pop()) ?? (await openWindow(browser, home));
      const visitor: Visitor = { page: window.page, context: window.context, complaints: [] };
      window.visitor = visitor;
      used.push({ window, isAltered });
      return visitor;
    },
  };
}
