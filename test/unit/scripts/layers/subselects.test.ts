// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the sources that are looked at are strings here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSources } from "../../../../scripts/layers/check.ts";
import { parseSources } from "../../../../scripts/layers/parse.ts";
import { subselectsOf } from "../../../../scripts/layers/subselects.ts";
import { templatesOf } from "../../../../scripts/layers/syntax.ts";

/** Broken rules of a file of the store that has this code. */
const broken = (code: string, path = "src/stores/a.ts") =>
  checkSources(parseSources(new Map([[path, code]])));

const LOCKS = /a\.ts:\d+ locks rows in a subselect/;
const VIOLATIONS: [string, string, RegExp][] = [
  [
    "a lock in a membership",
    "sql`delete from t where id in (select id from t order by id limit ${n} for update skip locked)`;",
    LOCKS,
  ],
  [
    "one over lines",
    "sql`\n  delete from t\n  where id IN\n    (\n      select id from t limit ${n}\n      FOR\n      UPDATE\n    )`;",
    /a\.ts:6 locks/,
  ],
  ["one without a limit", "sql`update t set a = 1 where id in (select id from t for update)`;", LOCKS],
  ["a weaker lock", "sql`delete from t where id in (select id from t limit 5 for no key update)`;", LOCKS],
  ["a shared lock", "sql`delete from t where id in (select id from t for key share skip locked)`;", LOCKS],
  ["one of several columns", "sql`delete from t where (a, b) in (select a, b from t for update)`;", LOCKS],
  ["one compared with", "sql`update t set a = 1 where id = (select id from t limit 1 for update)`;", LOCKS],
  ["one in an array", "sql`delete from t where id = any (array(select id from t for update))`;", LOCKS],
  [
    "a derived table",
    "sql`update t set a = 1 from (select id from t for update) p where p.id = t.id`;",
    LOCKS,
  ],
  ["an argument", "sql`select f((select id from t for key share), ${n})`;", LOCKS],
  [
    "a CTE that is not said to be materialized",
    "sql`with p as (select id from t limit 5 for update) delete from t using p where p.id = t.id`;",
    LOCKS,
  ],
  [
    "a lateral join of a statement",
    "sql`update t set a = 1 from u cross join lateral (select id from t limit u.n for update) p where p.id = t.id`;",
    LOCKS,
  ],
  [
    "parentheses and quotes before it",
    "sql`delete from t where id in (select id from t where a in (f(1), ')', \"(\") and b = '(((' for update)`;",
    LOCKS,
  ],
  [
    "a comment of SQL that looks like a CTE",
    "sql`delete from t where id in ( -- as materialized (\n select id from t for update)`;",
    LOCKS,
  ],
  [
    "code with braces and quotes in between",
    'sql`delete from t where id in (select id from t where a = ${f({ b: "`}" })} limit ${g(`${n}`)} for update)`;',
    LOCKS,
  ],
  [
    "a clause in a template of its own, inside",
    "sql`delete from t where id in (select id from t ${isLong ? sql`limit ${n} for update` : sql``})`;",
    LOCKS,
  ],
  [
    "a clause in a template of its own, elsewhere",
    "const lock = sql`for update skip locked`;",
    /writes a lock outside of its statement/,
  ],
  [
    "a limit without a lock",
    "sql`delete from t where id in (select id from t order by id limit ${n})`;",
    /a\.ts:1 limits a subselect of `in \(…\)`/,
  ],
  ["an offset", "sql`delete from t where id in (select id from t offset ${n})`;", /limits a subselect/],
  [
    "the standard's limit",
    "sql`delete from t where id in (select id from t fetch first 5 rows only)`;",
    /limits a subselect/,
  ],
  [
    "a template without a tag",
    "export const migration = `create function f() returns void language sql as $$\n  delete from t where id in (select id from t for update);\n$$`;",
    /a\.ts:2 locks/,
  ],
];
const ALLOWED: [string, string][] = [
  [
    "the one form",
    "sql`with taken as materialized (select id from t limit ${n} for update skip locked) delete from t using taken where t.id = taken.id`;",
  ],
  [
    "a lateral join of such a CTE",
    "sql`with taken as materialized (select p.id from u cross join lateral (select id from t limit u.n for update) p) delete from t using taken where t.id = taken.id`;",
  ],
  ["a lock of a statement's own", "tx`select from teams where id = ${id} for no key update`;"],
  ["a list that is no subselect's", "sql`delete from t where id in (select id from given)`;"],
  [
    "a limit of what is read",
    "sql`select *, (select max(a) from u limit 1) as a from t order by id limit ${n}`;",
  ],
  ["a set of limited ones", "sql`(select a from t limit 1) union all (select a from u limit 1)`;"],
  [
    "code that is no SQL",
    "const take = (limit: number) => list.slice(0, limit); // in (select … for update)",
  ],
  ["words", 'throw new Error("no time for update, beyond limit 5"); const s = `limit of ${n} for all`;'],
];
// Parsed together: a compiler for each would take 100 ms.
const cases = parseSources(
  new Map([...VIOLATIONS, ...ALLOWED].map(([what, code]) => [`${what}.ts`, `${code}\n`])),
);
function brokenIn(what: string): string[] {
  const file = cases.get(`${what}.ts`);
  assert.ok(file);
  return checkSources(new Map([["src/stores/a.ts", file]]));
}

for (const [what, , message] of VIOLATIONS)
  test(`${what} is refused`, () => {
    const lines = brokenIn(what);
    assert.ok(
      lines.some((line) => message.test(line)),
      `found: ${lines.join("; ")}`,
    );
  });

for (const [what] of ALLOWED)
  test(`${what} is allowed`, () => {
    assert.deepEqual(brokenIn(what), []);
  });

test("tests and commands may write what they like, and what was released stays as it is", () => {
  const code = "sql`delete from t where id in (select id from t for update)`;\n";
  assert.deepEqual(broken(code, "test/unit/a.test.ts"), []);
  assert.deepEqual(broken(code, "src/stores/postgres/migrations/0001-to-0015/0007-usage.ts"), []);
  assert.equal(broken(code, "src/stores/postgres/migrations/0016-to-0030/0016-next.ts").length, 1);
});

test("templates are found whole, with those inside them, at their places", () => {
  const source =
    'const a = "`"; /* ` */ f(`one ${x ? `two ${{ a: "}" }} three` : y} four`, /`/, `five \\` six`);';
  const file = parseSources(new Map([["a.ts", source]])).get("a.ts");
  assert.ok(file);
  const found = templatesOf(file);
  assert.deepEqual(
    found.map(({ text }) => text.replaceAll(/\s+/g, " ")),
    ["one $ two $ three four", "five six"],
  );
  for (const { start, text } of found) assert.equal(text.slice(0, 3), source.slice(start, start + 3));
});

test("a clause is distinguished from columns of the same name", () => {
  assert.deepEqual(subselectsOf('select a from (select "limit", t.limit from t where offset > 2) x'), []);
});
