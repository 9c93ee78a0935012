import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  createListedAddresses,
  createMadeUpAddresses,
  readEmails,
} from "../../../../bench/load/addresses.ts";
import { requireOwn } from "../../../../bench/load/target-address.ts";
import { createTraffic } from "../../../../bench/load/traffic.ts";
import { UsageError } from "../../../../bench/load/units.ts";
import { createRandom } from "../../../../scripts/suggestions/random-ints.ts";

const settings = { hotMax: 10, random: createRandom(1) };

describe("addresses of a load", () => {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-load-"));
  after(() => rmSync(dir, { recursive: true }));
  const file = (text: string) => {
    const path = join(dir, "list.csv");
    writeFileSync(path, text);
    return path;
  };

  it("are of reserved names, each new, when none are given", () => {
    const source = createMadeUpAddresses(settings, "ab12", false);
    const made = Array.from({ length: 300 }, () => source.fresh());
    assert.equal(new Set(made).size, 300);
    assert.ok(made.every((address) => /^load-ab12-\d+@example\.(com|net|org)$/.test(address)));
    const first = new Set(made.slice(0, 10));
    assert.ok(Array.from({ length: 100 }, () => source.hot()).every((address) => first.has(address)));
  });

  it("of a test key choose its outcomes, without refusals and slow ones", () => {
    const source = createMadeUpAddresses(settings, "ab12", true);
    const locals = new Set(Array.from({ length: 90 }, () => source.fresh().split("+")[0]));
    assert.deepEqual([...locals].sort(), [
      ...["catch-all", "disposable", "full", "greylisted", "invalid", "risky", "role", "unknown", "valid"],
    ]);
  });

  it("of a file are taken in turn, and each restart of the file is counted", () => {
    const source = createListedAddresses(settings, ["a@x.test", "b@x.test"]);
    assert.equal(source.hot(), "a@x.test", "a fresh one until there is any");
    assert.deepEqual([source.fresh(), source.rounds], ["b@x.test", 0]);
    assert.deepEqual([source.fresh(), source.rounds], ["a@x.test", 1]);
  });

  it("are read from lines and from CSV of any usual delimiter", async () => {
    const cases: [string, string[]][] = [
      ["a@x.test\nb@x.test\n", ["a@x.test", "b@x.test"]],
      ["\ufeffname;email\r\nA;a@x.test\r\n;b@x.test\r\nC;\r\n", ["a@x.test", "b@x.test"]],
      ['"Doe, J.",a@x.test,1\n\n"quoted ""x""",b@x.test', ["a@x.test", "b@x.test"]],
      ["1\ta@x.test\n2\tb@x.test", ["a@x.test", "b@x.test"]],
    ];
    for (const [text, wanted] of cases) assert.deepEqual(await readEmails(file(text), 10), wanted);
  });

  it("are refused where there are none, too many, or no file", async () => {
    const refused = (path: string, max: number, message: RegExp) =>
      assert.rejects(
        readEmails(path, max),
        (error) => error instanceof UsageError && message.test(error.message),
      );
    await refused(file("email\nnobody\n"), 10, /no address in it/);
    await refused(
      file("a@x.test\nb@x.test\nc@x.test\n"),
      2,
      /more than 2 addresses.*--max-emails lifts that/,
    );
    await refused(join(dir, "missing.csv"), 10, /--emails .*missing\.csv: ENOENT/);
    await refused(dir, 10, /EISDIR/);
    await refused(file(`a@x.test,"${"x".repeat(70_000)}`), 10, /--emails/);
  });
});

describe("what singles are about", () => {
  it("is as mixed as was asked for", () => {
    const random = createRandom(5);
    const traffic = createTraffic(
      { repeat: 0.8, refresh: 0.1, evidence: 0.2 },
      createMadeUpAddresses({ hotMax: 50, random }, "m", false),
      "/rcpt",
      random,
    );
    const counts: Record<string, number> = {};
    for (let i = 0; i < 10_000; i++) {
      const { kind, path } = traffic.next();
      counts[kind] = (counts[kind] ?? 0) + 1;
      assert.match(
        path,
        /^\/rcpt\/v1\/verify\?email=load-m-\d+%40example\.(com|net|org)(&(refresh|evidence)=true)?$/,
      );
      assert.equal(path.includes("refresh=true"), kind === "refresh");
      assert.equal(path.includes("evidence=true"), kind === "evidence");
    }
    const near = (kind: string, share: number) =>
      assert.ok(Math.abs((counts[kind] ?? 0) - share * 10_000) < 300, `${kind}: ${counts[kind]}`);
    near("refresh", 0.1);
    near("evidence", 0.2);
    near("repeated", 0.7 * 0.8);
    near("new", 0.7 * 0.2);
  });
});

describe("whose deployment it is", () => {
  const found =
    (...addresses: string[]) =>
    async () =>
      addresses;

  it("is taken for ours here and in private networks", async () => {
    for (const origin of ["http://127.0.0.1:8080", "http://[::1]", "https://10.1.2.3", "http://[fd00::1]:80"])
      await requireOwn(origin, false, () => assert.fail("a literal is not looked up"));
    await requireOwn("http://rcpt.internal", false, found("192.168.1.9", "fd00::1"));
  });

  it("has to be said where one address of it is public", async () => {
    for (const origin of ["https://93.184.215.14", "https://[2606:2800::1]"])
      await assert.rejects(requireOwn(origin, false), /--i-own-this-deployment/);
    await assert.rejects(
      requireOwn("http://a.example", false, found("10.0.0.1", "93.184.215.14")),
      /public address/,
    );
    await requireOwn("http://a.example", true, found("93.184.215.14"));
  });

  it("is unknown where the name is", async () => {
    const fails = async () => {
      throw Object.assign(new Error("no"), { code: "ENOTFOUND" });
    };
    await assert.rejects(
      requireOwn("http://a.example", true, fails),
      /a\.example cannot be looked up \(ENOTFOUND\)/,
    );
  });
});
