import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { type Loaded, runLoadCommand } from "../../support/load-command.ts";
import { until } from "../../support/until.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

const RESULT = JSON.stringify({ email: "a@example.com", verdict: "valid", cached: true });
const KEY = "rcpt_live_notsomuchofasecret";

/** Behaviours of the server, in turn, each equally often. */
const BEHAVIOURS: readonly Handler[] = [
  (_, response) => response.end(RESULT),
  (_, response) => setTimeout(() => response.end(RESULT), 30),
  (request) => request.socket.resetAndDestroy(),
  (_, response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write(RESULT.slice(0, 10));
    setImmediate(() => response.destroy());
  },
  (_, response) => response.writeHead(429, { "Retry-After": "1" }).end('{"code":"rate_limited"}'),
  (_, response) => response.writeHead(503).end("<html>"),
  (_, response) => response.end('{"verdict": 5}'),
  (_, response) => response.end("not even JSON"),
  (request) => request.socket.end("ICY 200 OK\r\n\r\n"),
  (_, response) => response.end("x".repeat(2_000_000)),
];

/** One request that is never answered, as long as the test runs. */
const STALL: Handler = () => {};

describe("a load on a server that misbehaves", () => {
  let server: Server;
  let url = "";
  let behave: Handler = STALL;
  let asked = 0;
  const keys = new Set<string | undefined>();

  before(async () => {
    server = createServer((request, response) => {
      keys.add(request.headers.authorization);
      if (request.url === "/v1/usage") return void response.end('{"tier":"pro","remaining":5}');
      behave(request, response, asked++);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  function run(argv: string[], handler: Handler, interrupted?: AbortSignal): Promise<Loaded> {
    behave = handler;
    asked = 0;
    return runLoadCommand({ url, key: KEY, argv, ...(interrupted ? { interrupted } : {}) });
  }

  const byTurns: Handler = (request, response, nth) =>
    BEHAVIOURS[nth % BEHAVIOURS.length]?.(request, response, nth);

  for (const how of ["open", "closed"]) {
    it(`loses nothing of what becomes of requests (${how} loop)`, async () => {
      const rate =
        how === "open" ? ["--rate", "1000", "--connections", "8"] : ["--closed", "--connections", "8"];
      const { report, code, stdout } = await run(
        [
          ...rate,
          "--requests",
          "200",
          "--duration",
          "5m",
          "--fail-on",
          "errors<1%,p50<10m".replace("10m", "10s"),
        ],
        byTurns,
      );
      assert.ok(report, stdout);
      assert.deepEqual(report.faults, []);
      const { planned, sent, answered, failed, cut, unsent } = report.requests;
      assert.deepEqual([planned, sent, cut, unsent], [200, 200, 0, 0]);
      assert.equal(answered + failed, 200);
      assert.equal(report.ended, "requests");
      // A connection that is reset may be asked again by neither side: each behaviour was met exactly so often.
      assert.deepEqual(report.statuses, { 200: 40, 429: 20, 503: 20 });
      assert.deepEqual(report.codes, { rate_limited: 20 });
      const { reset = 0, malformed = 0, too_large = 0 } = report.failures;
      assert.equal(too_large, 20);
      assert.equal(reset + malformed, 100);
      assert.equal(malformed, 60, "two bodies that are no results, and an answer that is no HTTP");
      assert.deepEqual([report.ok, report.verdicts], [40, { valid: 40 }]);
      assert.equal(code, 1, "errors<1% is broken");
      assert.deepEqual(
        report.thresholds.map(({ holds }) => holds),
        [false, true],
      );
    });
  }

  it("gives up a request at its timeout, and cuts what is under way at the end", async () => {
    const stalled = await run(
      ["--closed", "--connections", "2", "--requests", "2", "--timeout", "3s", "--duration", "5m"],
      STALL,
    );
    assert.deepEqual(stalled.report?.failures, { timeout: 2 });
    assert.equal(stalled.code, 3, "nothing was measured");
    const cut = await run(
      ["--closed", "--connections", "2", "--requests", "2", "--timeout", "5m", "--grace", "100ms"],
      STALL,
    );
    assert.deepEqual([cut.report?.requests.cut, cut.report?.requests.failed], [2, 0]);
    assert.match(cut.stdout, /2 requests were under way at the end/);
  });

  it("obeys Retry-After where the options say so", async () => {
    const refuse: Handler = (_, response) => response.writeHead(429, { "Retry-After": "60" }).end("{}");
    const { report } = await run(
      ["--rate", "200", "--duration", "1s", "--heed-retry-after", "--connections", "1"],
      refuse,
    );
    const { planned = 0, sent = 0, heldBack = 0 } = report?.requests ?? {};
    assert.deepEqual([planned, sent, heldBack], [199, 1, 198]);
    assert.equal(asked, 1);
  });

  it("ends with a report when it is interrupted", async () => {
    const interrupted = new AbortController();
    const running = run(
      ["--duration", "10m", "--connections", "2"],
      BEHAVIOURS[0] ?? STALL,
      interrupted.signal,
    );
    await until("some were asked", () => asked > 10);
    interrupted.abort();
    const { report, code, html } = await running;
    assert.equal(code, 130);
    assert.equal(report?.ended, "stopped");
    assert.ok(report.requests.answered > 9, `${report.requests.answered} answered`);
    assert.ok(report.requests.sent >= asked && report.requests.planned >= report.requests.sent);
    assert.deepEqual(report.faults, []);
    assert.match(html ?? "", /it was interrupted/);
  });

  it("leaves no job behind when it is interrupted before it knows the job", async () => {
    const interrupted = new AbortController();
    const seen: string[] = [];
    const names = new Set<unknown>();
    const job = { id: "job_1", status: "queued", rows: { total: 10, processed: 0 }, verdicts: {} };
    const argv = ["--bulk-every", "10m", "--bulk-only", "--bulk-rows", "10", "--bulk-by", "inline"];
    const running = run(
      argv,
      (request, response) => {
        seen.push(`${request.method} ${request.url}`);
        response.setHeader("Content-Type", "application/json");
        if (request.url !== "/v1/verify/bulk") return void response.end(JSON.stringify(job));
        names.add(request.headers["idempotency-key"]);
        // Taken, and never answered; still being worked on when it is repeated; then known.
        if (seen.length === 1) interrupted.abort();
        else if (seen.length === 2)
          response
            .writeHead(409, { "Retry-After": "1" })
            .end('{"code":"idempotency_in_flight","detail":"."}');
        else response.writeHead(202).end(JSON.stringify(job));
      },
      interrupted.signal,
    );
    const { code, report, stdout } = await running;
    const submission = "POST /v1/verify/bulk";
    assert.deepEqual(seen, [submission, submission, submission, "POST /v1/bulk-jobs/job_1/cancel"], stdout);
    assert.equal(names.size, 1);
    assert.equal(code, 130);
    assert.deepEqual([report?.bulk[0]?.id, report?.bulk[0]?.fault], [null, "interrupted"]);
  });

  it("submits nothing when it is interrupted before it has submitted", async () => {
    const interrupted = new AbortController();
    const seen: string[] = [];
    const argv = ["--bulk-every", "10m", "--bulk-only", "--bulk-rows", "10", "--bulk-by", "upload"];
    const { code } = await run(
      argv,
      (request) => {
        seen.push(`${request.method} ${request.url?.replace(/load-.*/, "")}`);
        interrupted.abort();
      },
      interrupted.signal,
    );
    assert.deepEqual([code, seen], [130, ["PUT /v1/uploads/"]]);
  });

  it("never shows the key, and reports the rest of the daily quota", async () => {
    const all = await run(["--requests", "20", "--rate", "500"], BEHAVIOURS[0] ?? STALL);
    assert.deepEqual([...keys], [`Bearer ${KEY}`]);
    for (const text of [all.stdout, all.stderr, all.html, JSON.stringify(all.report)])
      assert.doesNotMatch(text ?? "", /notsomuch/);
    assert.match(all.stderr, /5 verifications left today, and up to 20 would be sent/);
    assert.equal(all.code, 0);
  });

  it("counts connections that cannot be made", async () => {
    let dialled = 0;
    const { report } = await run(
      ["--requests", "6", "--closed", "--connections", "2"],
      (request, response) => {
        dialled += 1;
        response.setHeader("Connection", "close");
        if (dialled === 1) server.close();
        response.end(RESULT);
        request.socket.destroySoon();
      },
    );
    server.listen(Number(new URL(url).port), "127.0.0.1");
    await once(server, "listening");
    const { answered = 0, failed = 0, sent = 0 } = report?.requests ?? {};
    assert.equal(sent, 6);
    assert.equal(answered + failed, 6);
    // Both connections may have been there before the server closed, one of them not taken yet.
    assert.ok(answered <= 2, `${answered} of 6 answered`);
    assert.ok((report?.failures.connect ?? 0) >= 3, JSON.stringify(report?.failures));
  });
});

describe("a load that cannot be begun", () => {
  const run = (url: string, ...argv: string[]) => runLoadCommand({ url, key: KEY, argv });

  it("says why, and leaves with a code of its own", async () => {
    const nobody = await run("http://127.0.0.1:9", "--duration", "1s");
    assert.deepEqual([nobody.code, nobody.report], [3, null]);
    assert.match(nobody.stderr, /^rcpt: http:\/\/127\.0\.0\.1:9 cannot be reached \(\w+\)\n$/);
    const wrong = await run("http://127.0.0.1:9", "--rate", "0");
    assert.deepEqual([wrong.code, wrong.stderr.split("\n").length], [2, 2]);
    const unwritable = await runLoadCommand({
      ...{ url: "http://127.0.0.1:9", key: KEY },
      argv: ["--json", "/nonexistent/report.json"],
    });
    assert.match(unwritable.stderr, /--json \/nonexistent\/report\.json: ENOENT/);
    assert.equal(unwritable.code, 2);
  });

  it("is refused by a deployment that does not take the key", async () => {
    const server = createServer((_, response) => response.writeHead(401).end("{}"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { code, stderr } = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.closeAllConnections();
    server.close();
    assert.equal(code, 3);
    assert.match(stderr, /does not take the key \(HTTP 401\)/);
  });
});
