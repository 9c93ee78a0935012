// npm run lists [-- --refresh]
//
// The lists of domains and roles: release, age and how many names each has. `--refresh` asks the registry for newer releases,
// shows what they add and remove, and pins them. Exit code 1 when that fails: then nothing has been changed.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type ListPackage, readNames } from "../src/verification/lists/compile.ts";
import { LIST_RELEASES } from "../src/verification/lists/releases.ts";
import { NEVER_DISPOSABLE } from "../src/verification/lists/trusted.ts";
import { namesOfRelease, newestRelease, pin } from "./lists/npm.ts";
import { findUpdates, type Update } from "./lists/refresh.ts";

const ROOT = resolve(import.meta.dirname, "..");
const RELEASES_FILE = resolve(ROOT, "src/verification/lists/releases.json");
const NAMES_SHOWN = 20;
const DAY_MS = 86_400_000;
const load = createRequire(import.meta.url);
const { values } = parseArgs({ options: { refresh: { type: "boolean", default: false } } });

function show(): void {
  for (const [name, { version, asOf }] of Object.entries(LIST_RELEASES)) {
    const days = Math.floor((Date.now() - Date.parse(asOf)) / DAY_MS);
    const names = readNames(name as ListPackage, load).length;
    console.log(`${name.padEnd(28)} ${version.padEnd(10)} of ${asOf}, ${days} days old, ${names} names`);
  }
}

function some(sign: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  console.log(`  ${sign}${names.length}: ${names.slice(0, NAMES_SHOWN).join(" ")}${more}`);
}

function tell({ name, from, to, added, removed, doubtful }: Update): void {
  console.log(`${name} ${from.version} of ${from.asOf} -> ${to.version} of ${to.asOf}`);
  some("+", added);
  some("-", removed);
  some("mailbox providers, to be decided in test/fixtures/lists/one-list.tsv: ", doubtful);
}

async function refresh(): Promise<void> {
  const providers = new Set(readNames("email-providers", load));
  const updates = await findUpdates(LIST_RELEASES, {
    newest: (name) => newestRelease(name, ROOT),
    namesInUse: (name) => readNames(name, load),
    namesOf: namesOfRelease,
    isDoubtful: (name) => providers.has(name) || NEVER_DISPOSABLE.has(name),
  });
  if (updates.length === 0) {
    console.log("All lists are the newest there are.");
    return;
  }
  for (const update of updates) tell(update);
  await pin(
    updates.map(({ name, to }) => ({ name, version: to.version })),
    ROOT,
  );
  const releases = { ...LIST_RELEASES, ...Object.fromEntries(updates.map(({ name, to }) => [name, to])) };
  const lines = Object.entries(releases).map(
    ([name, { version, asOf }]) => `  "${name}": { "version": "${version}", "asOf": "${asOf}" }`,
  );
  writeFileSync(RELEASES_FILE, `{\n${lines.join(",\n")}\n}\n`);
  console.log("Pinned. Run `npm test -- test/unit/verification/lists`, then `npm run build`.");
}

if (values.refresh) await refresh();
else show();
