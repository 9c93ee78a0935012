import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LoadOptions, parseOptions } from "../../../../bench/load/options.ts";
import { UsageError } from "../../../../bench/load/units.ts";

const HERE = ["--url", "http://127.0.0.1:8080"];
const ENV = { RCPT_KEY: "rcpt_test_abc" };

function parsed(...argv: string[]): LoadOptions {
  const found = parseOptions([...HERE, ...argv], ENV, 7);
  assert.ok(!found.help);
  return found.options;
}

describe("options of a load", () => {
  it("are bounded in every way when nothing is said", () => {
    const { loop, connections, durationMs, warmUpMs, requests, mix, bulk, seed } = parsed();
    assert.deepEqual(loop, {
      ...{ kind: "open", rate: 200, arrivals: "uniform", backlog: 10_000 },
      profile: [{ fromMs: 0, toMs: Infinity, from: 200, to: 200 }],
    });
    assert.deepEqual([connections, durationMs, warmUpMs, requests, seed], [64, 30_000, 0, 100_000, 7]);
    assert.deepEqual(mix, { repeat: 0.9, refresh: 0, evidence: 0 });
    assert.equal(bulk, null);
  });

  it("take units, and levels of a ramp", () => {
    const options = parsed("--rate", "1.5k", "--duration", "1.5m", "--requests", "0.5M", "--repeat", "95%");
    assert.equal(options.loop.kind === "open" && options.loop.rate, 1_500);
    assert.deepEqual([options.durationMs, options.requests, options.mix.repeat], [90_000, 500_000, 0.95]);
    const steps = parsed("--ramp", "100,200,400:10s");
    assert.equal(steps.durationMs, 30_000, "as long as all levels");
    assert.equal(steps.loop.kind === "open" && steps.loop.rate, 400);
    const closed = parsed("--closed", "--ramp", "8,128:5s");
    assert.equal(closed.connections, 128);
  });

  it("keep the prefix of a deployment, and nothing else of its path", () => {
    const found = parseOptions(["--url", "https://mail.example.com/rcpt/"], ENV, 0);
    assert.ok(!found.help);
    assert.deepEqual([found.options.origin, found.options.basePath], ["https://mail.example.com", "/rcpt"]);
  });

  it("never hold the key, wherever it comes from", () => {
    const ways: [string[], Record<string, string>, unknown][] = [
      [[], { RCPT_KEY: "secret" }, { from: "text", text: "secret" }],
      [["--key", "secret"], {}, { from: "text", text: "secret" }],
      [["--key", "secret"], { RCPT_KEY: "other" }, { from: "text", text: "secret" }],
      [["--key-file", "-"], { RCPT_KEY: "other" }, { from: "file", path: "-" }],
      [[], { RCPT_KEY_FILE: "/run/secret" }, { from: "file", path: "/run/secret" }],
    ];
    for (const [argv, env, key] of ways) {
      const found = parseOptions([...HERE, ...argv], env, 0);
      assert.ok(!found.help);
      assert.deepEqual(found.key, key);
      assert.doesNotMatch(JSON.stringify(found.options), /secret/);
    }
  });

  it("ask for help without anything else", () => {
    assert.deepEqual(parseOptions(["--help"], {}, 0), { help: true });
  });

  it("are refused with a sentence that says what would be right", () => {
    const cases: [string[], RegExp][] = [
      [["--rat", "5"], /Unknown option '--rat' \(--help lists/],
      [["now"], /Unexpected argument 'now'/],
      [["--rate"], /--rate/],
      [["--rate", "0"], /--rate takes requests a second such as 200/],
      [["--rate", "fast"], /not "fast"/],
      [["--rate", "2001"], /the rate is 2,001\/s, and 2,000\/s is the most .*--max-rate lifts that/],
      [["--rate", "60k", "--max-rate", "60k"], /--max-rate can be 50,000\/s at most/],
      [["--rate", "5", "--closed"], /--closed has no --rate/],
      [["--closed", "--arrivals", "poisson"], /--closed has no --arrivals/],
      [["--arrivals", "often"], /uniform or poisson, not "often"/],
      [["--connections", "1.5"], /--connections takes a whole number from 1/],
      [["--connections", "1001"], /--max-connections lifts that/],
      [["--backlog", "2M"], /--backlog can be 1000000 at most/],
      [["--ramp", "10"], /--ramp takes a duration/],
      [["--ramp", "1,2"], /levels such as 100,200,400:10s, not "1,2"/],
      [["--ramp", "1,2:5s:3s"], /levels such as/],
      [["--ramp", "1,x:5s"], /not "x"/],
      [["--ramp", "1,2:5s", "--rate", "5"], /no --rate beside it/],
      [["--closed", "--ramp", "1,2:5s", "--connections", "5"], /no --connections beside it/],
      [["--ramp", "1,9000:5s"], /the rate is 9,000\/s/],
      [["--duration", "30"], /--duration takes a duration such as 500ms, 30s or 5m, not "30"/],
      [["--duration", "0s"], /--duration must be above nought/],
      [
        ["--duration", "10m", "--warm-up", "1s"],
        /duration and warm-up together is 601 s, and 10 min is the most/,
      ],
      [["--duration", "25h", "--max-duration", "25h"], /--max-duration can be 24 h at most/],
      [["--requests", "2M"], /--max-requests lifts that/],
      [["--requests", "-1"], /--requests/],
      [["--timeout", "1h"], /--timeout can be 10 min at most/],
      [["--repeat", "1.1"], /share such as 0.9 or 90%, not "1.1"/],
      [["--refresh", "0.6", "--evidence", "0.6"], /more than all requests/],
      [["--hot", "2M"], /--hot can be 1000000 at most/],
      [["--bulk-rows", "5"], /--bulk-rows needs --bulk-every/],
      [["--bulk-only"], /--bulk-only needs --bulk-every/],
      [["--bulk-every", "5s", "--bulk-only", "--rate", "5"], /--bulk-only sends no singles/],
      [["--bulk-every", "5s", "--bulk-rows", "200k"], /a list is 200,000, .*--max-bulk-rows lifts that/],
      [["--bulk-every", "5s", "--bulk-by", "mail"], /upload or inline, not "mail"/],
      [["--bulk-every", "5s", "--bulk-by", "inline", "--bulk-rows", "20k"], /10,000 rows at most/],
      [["--bulk-every", "5s", "--bulk-at-once", "21"], /--bulk-at-once can be 20 at most/],
      [["--fail-on", "p98<5ms"], /knows no "p98"/],
      [["--key", "a", "--key-file", "b"], /not both/],
      [["--url", "ftp://127.0.0.1"], /a URL of http or https/],
      [["--url", "http://me:pw@127.0.0.1"], /no user, query or fragment/],
    ];
    for (const [argv, message] of cases) {
      assert.throws(
        () => parseOptions([...HERE, ...argv], ENV, 0),
        (error) => error instanceof UsageError && message.test(error.message),
        argv.join(" "),
      );
    }
    assert.throws(() => parseOptions([], ENV, 0), /give --url URL/);
    assert.throws(() => parseOptions(HERE, {}, 0), /no key: set RCPT_KEY/);
  });
});
