import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext } from "playwright-core";
import { launchBrowser } from "../../test/support/packaged-browser.ts";
import { InvalidRun, median, quantile } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import { type BenchContext, settingsFor, withChildren } from "../setup/context.ts";
import { startRole } from "../setup/role.ts";

/** Counted openings of each page. The first of each is not counted: the server reads the files from the disk. */
const OPENINGS = { full: 15, quick: 5 };
const MOST_S = 1;
const TYPED = "jane@example.com";
const NO_DNS = "127.0.0.1:9";

interface Subject {
  name: string;
  url: string;
  /** Label of the field that is to accept input. */
  field: string;
}

interface Opening {
  /** From the start of the navigation until the field holds a typed text, by the page's own clock. */
  ms: number;
  /** Of the page and its files, as they were sent. */
  bytes: number;
}

const BYTES = `["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

/** Opens a page in a context of its own, whose cache is empty. */
async function open(
  browser: Browser,
  { name, url, field }: Subject,
  cookies: Parameters<BrowserContext["addCookies"]>[0],
): Promise<Opening> {
  const context = await browser.newContext();
  try {
    await context.addCookies(cookies);
    const page = await context.newPage();
    await page.goto(url, { waitUntil: "commit" });
    const input = page.getByLabel(field, { exact: true });
    await input.fill(TYPED);
    const ms = Number(await page.evaluate("performance.now()"));
    if ((await input.inputValue()) !== TYPED) throw new InvalidRun(`${name}: the field lost its text`);
    return { ms, bytes: Number(await page.evaluate(BYTES)) };
  } finally {
    await context.close();
  }
}

/** A page that is nothing but a field, and so many bytes. */
async function serveStatic(bytes: number): Promise<{ server: Server; url: string }> {
  const page = `<!doctype html><title>static</title><label>Email <input></label><!--${"x".repeat(bytes)}-->`;
  const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(page));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Registers a person. @returns the cookie of the session */
async function register(url: string): Promise<Parameters<BrowserContext["addCookies"]>[0]> {
  const response = await fetch(`${url}/v1/auth/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: TYPED, password: "correct horse battery", team_name: "bench" }),
  });
  if (!response.ok) throw new InvalidRun(`registering: ${response.status} ${await response.text()}`);
  const { session } = (await response.json()) as { session: { token: string } };
  const cookie = { name: "__Host-rcpt_session", value: session.token, secure: true, httpOnly: true };
  return [{ ...cookie, url: url.replace("http:", "https:"), sameSite: "Strict" }];
}

async function measure(context: BenchContext, browser: Browser): Promise<[Subject, Opening[]][]> {
  return withChildren(async (keep) => {
    const settings = {
      ...settingsFor(context, { dnsServer: NO_DNS, smtpPort: 25 }),
      REGISTRATION: "open",
      SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
      // At `warn` it also names requests of pages that were closed before the answer.
      LOG_LEVEL: "error",
    };
    const { port } = keep(await startRole(context, "api", settings));
    const url = `http://127.0.0.1:${port}`;
    const cookies = await register(url);
    const verify: Subject = { name: "verify", url: `${url}/verify`, field: "Address" };
    const { bytes } = await open(browser, verify, cookies);
    const { server, url: staticUrl } = await serveStatic(bytes);
    keep({ end: async () => void server.close() });
    const subjects: Subject[] = [
      { name: "sign-in", url: `${url}/sign-in`, field: "Email" },
      verify,
      { name: "static", url: staticUrl, field: "Email" },
    ];
    const openings = subjects.map((subject): [Subject, Opening[]] => [subject, []]);
    for (let round = 0; round <= OPENINGS[context.quick ? "quick" : "full"]; round++)
      for (const [subject, done] of openings) {
        const opening = await open(browser, subject, subject === verify ? cookies : []);
        if (round > 0) done.push(opening);
      }
    return openings;
  });
}

const msOf = (openings: readonly Opening[]) => openings.map(({ ms }) => ms);

function targetOf([{ name }, openings]: [Subject, Opening[]]): Target {
  const what =
    name === "static" ? "a static page of as many bytes, the same" : `${name} page, until it accepts input`;
  const bound = name === "static" ? {} : { atMost: MOST_S };
  return { id: `portal.${name}`, what, unit: "s", figure: median(msOf(openings)) / 1_000, ...bound };
}

/** Measures how long a person waits for a page of the portal that the browser has never seen. */
export async function benchPortal(context: BenchContext): Promise<Section> {
  const browser = await launchBrowser();
  if (browser === null) throw new Error("no browser runs on this system");
  const openings = await measure(context, browser).finally(() => browser.close());
  return {
    title: "Pages of the portal, not cached",
    configuration: [
      "the browser of the tests on the compiled API, over loopback; each opening with an empty cache, by turns",
      "from the start of the navigation until a text typed into the page's first field stands there",
      "static: a page of nothing but a field and as many bytes as the verify page and its files, of a bare server",
    ],
    unit: "openings",
    lines: [],
    table: [
      ["", "p50", "p10", "p90", "bytes sent"],
      ...openings.map(([{ name }, all]) => [
        name,
        ...[0.5, 0.1, 0.9].map((share) => `${Math.round(quantile(msOf(all), share))} ms`),
        (all[0]?.bytes ?? 0).toLocaleString("en"),
      ]),
    ],
    notes: [],
    targets: openings.map(targetOf),
  };
}
