import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";

// An import would have Node.js look for exports in all of the package's source, which takes as long as running it.
const { chromium } = createRequire(import.meta.url)("playwright-core") as typeof import("playwright-core");

const ROOT = resolve(import.meta.dirname, "../..");
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  devDependencies: { "@sparticuz/chromium": string };
};
const ARGS = ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--headless=shell"];
const CACHE = join(ROOT, ".rcpt/cache");
/** Of each version its own: another one would be tested with the browser of the first. */
const KEPT = join(CACHE, `browser-${devDependencies["@sparticuz/chromium"]}`);
/** The package unpacks the libraries that a minimal Linux lacks (NSS, NSPR, expat) only where it believes to run in AWS Lambda. */
const WITH_LIBRARIES = { AWS_LAMBDA_JS_RUNTIME: "nodejs22.x" };

interface PackagedBrowser {
  executablePath: string;
  /** Environment of its process. */
  env: Record<string, string>;
}

/** Runs `work` while `changes` are in the environment. */
async function withEnvironment<T>(changes: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const before = Object.keys(changes).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, changes);
  try {
    return await work();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** The system's fonts; if it has none, those of the package. */
function fontsConfiguration(): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${join(KEPT, "fonts")}</dir>
  <cachedir>${join(KEPT, "fonts-cache")}</cachedir>
</fontconfig>
`;
}

async function unpack(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "browser-new-"));
  try {
    // Imported before the environment says Lambda: else the package changes the environment of this process for good.
    const { default: packaged } = await import("@sparticuz/chromium");
    await withEnvironment({ ...WITH_LIBRARIES, TMPDIR: folder }, () => packaged.executablePath());
    writeFileSync(join(folder, "fonts.conf"), fontsConfiguration());
    renameSync(folder, KEPT);
  } catch (error) {
    // Another test file has unpacked the same meanwhile.
    if (!existsSync(KEPT)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The browser of `@sparticuz/chromium`, unpacked once into the project's cache; null: the package has none for this system. */
async function packagedBrowser(): Promise<PackagedBrowser | null> {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  if (!existsSync(KEPT)) await unpack();
  const libraries = join(KEPT, "al2023/lib");
  const before = process.env.LD_LIBRARY_PATH;
  return {
    executablePath: join(KEPT, "chromium"),
    env: {
      ...(process.env as Record<string, string>),
      LD_LIBRARY_PATH: before === undefined ? libraries : `${before}:${libraries}`,
      FONTCONFIG_FILE: join(KEPT, "fonts.conf"),
    },
  };
}

/** A new process of the package's browser, or of the system's Chrome; null: neither runs on this system. */
export async function launchBrowser(): Promise<Browser | null> {
  const packaged = await packagedBrowser();
  if (packaged !== null) return chromium.launch({ ...packaged, args: ARGS });
  return chromium.launch({ channel: "chrome" }).catch(() => null);
}
