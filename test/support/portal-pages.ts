import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { TestBrowser, Visitor, VisitorOptions } from "./browser.ts";
import { PASSWORD } from "./portal.ts";
import type { PortalSite } from "./portal-site.ts";

/** Widths, in pixels, in which each page is checked. */
const WIDTHS = [360, 768, 1_920] as const;

/** Folder for a screenshot of each page, see docs/portal; absent: no screenshots. */
const SCREENSHOTS = process.env.RCPT_SCREENSHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const WCAG = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];

/** Violations of WCAG 2.2 AA that axe finds on the page. */
async function faultsOf(page: Page): Promise<string[]> {
  // Evaluated over the debugger's connection: the page's content security policy does not apply there.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const found = await page.evaluate(async (rules) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    // Passes would be described too, each with its element.
    return (await axe.run({ runOnly: rules, resultTypes: ["violations"] })).violations;
  }, WCAG);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** Checks that the page is no wider than its window, and takes a screenshot. */
async function checkWidth(page: Page, name: string): Promise<void> {
  const width = page.viewportSize()?.width ?? 0;
  const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  assert.ok(Number(overflow) <= 0, `${name}: ${overflow} px wider than ${width}`);
  if (SCREENSHOTS === undefined) return;
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  const file = `${name.toLowerCase().replaceAll(" ", "-")}-${width}-${isDark ? "dark" : "light"}.png`;
  // What lies under the mouse looks different.
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(SCREENSHOTS, file), fullPage: true });
}

/** Checks the accessibility (WCAG 2.2 AA) and the width of the page, and takes a screenshot. */
export async function lookAt(page: Page, name: string): Promise<void> {
  assert.deepEqual(await faultsOf(page), [], name);
  await checkWidth(page, name);
}

/**
 * Checks the page in every width and both themes. Faults other than those of width are the same in each width: they are
 * looked for in the narrowest alone, and where that is asked for in the widest. A theme changes no width: in the others the
 * dark one is for the screenshots.
 */
export async function lookInThemes(page: Page, name: string, { isWideToo = false } = {}): Promise<void> {
  const [narrowest, , widest] = WIDTHS;
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate("scrollTo(0, 0)");
    const isExamined = width === narrowest || (isWideToo && width === widest);
    for (const colorScheme of ["light", "dark"] as const) {
      if (colorScheme === "dark" && !isExamined && SCREENSHOTS === undefined) continue;
      await page.emulateMedia({ colorScheme });
      if (isExamined) assert.deepEqual(await faultsOf(page), [], `${name}, ${colorScheme}, ${width}`);
      await checkWidth(page, name);
    }
    await page.emulateMedia({ colorScheme: "light" });
  }
}

/** Fills in and submits the sign-in form. */
export async function fillSignIn(page: Page, email: string): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Verify an address" }).waitFor();
}

/** The user and the page of a visit. */
interface Opening extends VisitorOptions {
  /** Token of a session that exists already. */
  session: string;
  /** Path below the portal's URL, such as /keys. */
  path: string;
}

/** Opens pages of the portal for signed-in users. */
export function portalVisits(site: PortalSite, browser: TestBrowser) {
  async function visit({ session, path, ...options }: Opening): Promise<Visitor> {
    const visitor = await browser.visitor(options);
    await visitor.context.addCookies([
      {
        name: "__Host-rcpt_session",
        value: session,
        // A Secure cookie, as over TLS: from loopback the browser sends it without TLS too.
        url: `https://${new URL(site.url).host}/`,
        secure: true,
        httpOnly: true,
        sameSite: "Strict",
      },
    ]);
    await visitor.page.goto(site.url + path);
    return visitor;
  }
  const open = async (opening: Opening) => (await visit(opening)).page;

  return {
    /** A page of the portal, with a session and a browser that keeps nothing of earlier visitors. */
    open,
    /** Checks a page in both themes and every width. @param shown resolves when the page is complete */
    async lookInAll(opening: Opening, name: string, shown: (page: Page) => Promise<void>): Promise<void> {
      const page = await open(opening);
      await shown(page);
      await lookInThemes(page, name);
    },
    /** A visitor with a session, on the first page. */
    async signedIn(session: string, options: VisitorOptions = {}): Promise<Visitor> {
      const visitor = await visit({ session, path: "/", ...options });
      await visitor.page.getByRole("heading", { name: "Verify an address" }).waitFor();
      return visitor;
    },
  };
}
