import { createRequire } from "node:module";
import * as v from "valibot";
import { buildTable, type SharedTable } from "./hash-table.ts";
import { OWN_ROLES } from "./roles.ts";
import { SELF_NAMED_DISPOSABLES } from "./self-named-disposables.ts";
import { MAILBOX_PROVIDERS, NEVER_DISPOSABLE, NOT_A_ROLE, NOT_FREE } from "./trusted.ts";

/** The lists in shared memory: built once in the main thread, opened by each thread through `workerData`. */
export interface SharedLists {
  disposable: SharedTable;
  role: SharedTable;
  free: SharedTable;
}

/** Names that `source` shows, by label less one; the first list that has a domain names it. */
export const DISPOSABLE_SOURCES = ["fakefilter", "disposable-email-domains", "mailchecker", "rcpt"] as const;

const FEWEST = 100;

/** Looked at as a whole: a schema that parses each of 65 000 strings takes 50 ms of the start. */
function areNames(input: unknown): input is string[] {
  return (
    Array.isArray(input) && input.length >= FEWEST && input.every((item: unknown) => typeof item === "string")
  );
}

const DomainsSchema = v.custom<string[]>(areNames, "a list of names was expected");
const MailcheckerSchema = v.object({ blacklist: v.pipe(v.function(), v.returns(v.instance(Set))) });
const FakefilterSchema = v.object({
  domains: v.custom<Record<string, unknown>>(
    (input) => typeof input === "object" && input !== null && areNames(Object.keys(input)),
    "an object by domains was expected",
  ),
});

const MEMBER = 1;

const load = createRequire(import.meta.url);

/** A data package's content, which the module cache would otherwise hold for good. */
function readOnce(name: string): unknown {
  const content: unknown = load(name);
  delete load.cache[load.resolve(name)];
  return content;
}

/** The npm data packages that lists are made of: which of their modules has the names, and how. */
const PACKAGES = {
  fakefilter: (load: Load) =>
    Object.keys(v.parse(FakefilterSchema, load("fakefilter/json/data.json")).domains),
  "disposable-email-domains-js": (load: Load) =>
    v.parse(DomainsSchema, load("disposable-email-domains-js/dist/dict/disposable_email_blocklist.json")),
  mailchecker: (load: Load) =>
    v.parse(DomainsSchema, [...v.parse(MailcheckerSchema, load("mailchecker")).blacklist()]),
  "email-providers": (load: Load) => v.parse(DomainsSchema, load("email-providers/all.json")),
  "role-based-email-addresses": (load: Load) => v.parse(DomainsSchema, load("role-based-email-addresses")),
};

export type ListPackage = keyof typeof PACKAGES;
/** Loads a module of a package by its name. */
type Load = (module: string) => unknown;

/**
 * The names that a package has.
 * @throws ValiError when an update changed its shape; what `load` throws
 */
export function readNames(name: ListPackage, load: Load): string[] {
  return PACKAGES[name](load);
}

/**
 * Reads the npm data packages and compiles them; takes some 100 ms.
 * @throws ValiError when an update of a package changed its shape
 */
export function compileLists(): SharedLists {
  const lists = [
    readNames("fakefilter", readOnce),
    readNames("disposable-email-domains-js", readOnce),
    readNames("mailchecker", readOnce),
    [...SELF_NAMED_DISPOSABLES],
  ];
  const disposable = buildTable(labelled(lists), countOf(lists));
  const providers = new Set(readNames("email-providers", readOnce));
  for (const list of [...lists, NOT_FREE]) for (const domain of list) providers.delete(domain);
  const free = [...providers, ...MAILBOX_PROVIDERS];
  const roles = readNames("role-based-email-addresses", readOnce)
    .concat(OWN_ROLES)
    .filter((role) => !NOT_A_ROLE.has(role));
  return { disposable, role: membersOf(roles), free: membersOf(free) };
}

function countOf(lists: readonly string[][]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

function* labelled(lists: readonly string[][]): Generator<[string, number]> {
  for (const [index, list] of lists.entries())
    for (const domain of list) if (!NEVER_DISPOSABLE.has(domain)) yield [domain, index + 1];
}

function membersOf(texts: readonly string[]): SharedTable {
  return buildTable(
    texts.map((text) => [text, MEMBER] as const),
    texts.length,
  );
}
