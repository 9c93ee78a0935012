import fc from "./properties.ts";

/**
 * Hostile request bodies: bytes that are no JSON, and JSON values that a body schema and all code behind it must
 * handle.
 */

const LONE_SURROGATES = ["\ud800", "\udfff", "a\udc00b", "\ud83d"];
const STRANGE_TEXTS = [
  "",
  "\0",
  "a\0b",
  "\u202e",
  "\ufeff",
  "..",
  "../../etc/passwd",
  "%00",
  "'; drop table teams; --",
  "{{7*7}}",
  "a".repeat(100_000),
  "é".repeat(300),
  "\u{1f600}".repeat(200),
  "2026-13-45T99:99:99Z",
  "http://[::ffff:169.254.169.254]/",
  "https://user:pass@127.0.0.1:6379/",
  "xn--",
  "xn--zzzzzzzzzz",
  `${"a.".repeat(130)}com`,
  "İ.com",
  ...LONE_SURROGATES,
];
const STRANGE_NUMBERS = [0, -0, -1, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 63), 1.5, 4_294_967_296];
const STRANGE_NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
  "",
  "\0",
  "length",
];

const text = fc.oneof(fc.constantFrom(...STRANGE_TEXTS), fc.string({ unit: "binary", maxLength: 60 }));
const scalar = fc.oneof(
  text,
  fc.constantFrom(...STRANGE_NUMBERS),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const name = fc.oneof(fc.constantFrom(...STRANGE_NAMES), fc.string({ maxLength: 10 }));

/** As JSON text: objects cannot hold a repeated name, nor one such as `__proto__`. */
const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar.map((value) => JSON.stringify(value) ?? "null"),
    fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(name, tie("value")), { maxLength: 4 })
      .map((pairs) => `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`),
  ),
})).value;

const nested = fc
  .tuple(fc.constantFrom("[", '{"a":'), fc.constantFrom(30, 31, 32, 33, 5_000))
  .map(([open, depth]) => open.repeat(depth) + (open === "[" ? "]" : "1}").repeat(depth));

const broken = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom("", "{", "[1,]", "{'a':1}", "nul", "1e999", '"\\ud800"', "\ufeff{}", '{"a":1}{', "NaN")
    .map(Buffer.from),
);

/** Every place of an example at which a value can be replaced: a path of names and indexes. */
function pathsOf(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [at];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [i, item])
    : Object.entries(value);
  return [at, ...entries.flatMap(([key, inner]) => pathsOf(inner, [...at, key]))];
}

/** The example as JSON text, with the value at `path` replaced by the JSON text `by`; `undefined` leaves it out. */
function replaced(
  value: unknown,
  path: readonly (string | number)[],
  by: string | undefined,
): string | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return by;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => (i === first ? replaced(item, rest, by) : JSON.stringify(item)));
    return `[${items.filter((item) => item !== undefined).join(",")}]`;
  }
  const members = Object.entries(value as object).flatMap(([key, inner]) => {
    const written = key === first ? replaced(inner, rest, by) : JSON.stringify(inner);
    return written === undefined ? [] : [`${JSON.stringify(key)}:${written}`];
  });
  return `{${members.join(",")}}`;
}

/** The example with one fault: a value of another type, one removed, a member added or repeated. */
function mutated(example: unknown): fc.Arbitrary<string> {
  const whole = JSON.stringify(example);
  const path = fc.constantFrom(...pathsOf(example));
  const added = fc
    .tuple(name, jsonText)
    .map(
      ([key, value]) => `${whole === "{}" ? "{" : `${whole.slice(0, -1)},`}${JSON.stringify(key)}:${value}}`,
    );
  const names = Object.keys(example as object);
  const repeated = fc
    .tuple(fc.constantFrom(...(names.length > 0 ? names : ["a"])), jsonText)
    .map(([key, value]) => `{${JSON.stringify(key)}:${value},${whole.slice(1)}`);
  const many = fc.constantFrom(11, 501, 5_000).map((count) => {
    const list = names.find((key) => Array.isArray((example as Record<string, unknown>)[key]));
    const items = list === undefined ? [] : ((example as Record<string, unknown[]>)[list] ?? []);
    return JSON.stringify({
      ...(example as object),
      [list ?? "x"]: Array.from({ length: count }, () => items[0]),
    });
  });
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(path, jsonText).map(([at, by]) => replaced(example, at, by) ?? "null") },
    {
      weight: 4,
      arbitrary: fc.tuple(path, text).map(([at, by]) => replaced(example, at, JSON.stringify(by)) ?? ""),
    },
    { weight: 1, arbitrary: path.map((at) => replaced(example, at, undefined) ?? "null") },
    { weight: 1, arbitrary: added },
    { weight: 1, arbitrary: repeated },
    { weight: 1, arbitrary: many },
  );
}

/** Bodies for a route whose documented example is `example`. */
export function hostileBodies(example: unknown): fc.Arbitrary<Buffer> {
  return fc.oneof(
    { weight: 8, arbitrary: mutated(example).map((json) => Buffer.from(json)) },
    { weight: 2, arbitrary: jsonText.map((json) => Buffer.from(json)) },
    { weight: 1, arbitrary: nested.map((json) => Buffer.from(json)) },
    { weight: 1, arbitrary: broken },
  );
}

/** Strings that the database or a later step might reject, and objects with such strings as names. */
const POINTED = [
  "",
  "\0",
  "a\0b",
  ...LONE_SURROGATES,
  "a".repeat(100_000),
  ["a\0b"],
  { "\0": "a" },
  { "\ud800": "a" },
  { a: "\0" },
  { a: "\ud800" },
].map((value) => JSON.stringify(value));

/** The example with each of its values replaced in turn by each of POINTED. */
export function pointedBodies(example: unknown): Buffer[] {
  return pathsOf(example).flatMap((path) =>
    [...POINTED, '{"__proto__":"a"}'].map((by) => Buffer.from(replaced(example, path, by) ?? "null")),
  );
}
