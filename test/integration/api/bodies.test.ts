import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import fc from "../../support/properties.ts";
import { until } from "../../support/until.ts";
import {
  AUTHORIZATION,
  connect,
  echoRoute,
  exchange,
  get,
  type Harness,
  itemRoute,
  postJson,
  startServer,
} from "./harness.ts";

const BODY_BYTES = 4_096;
const HEAD = `POST /v1/echo HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\nContent-Type: application/json\r\n`;
const ALIVE = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

describe("request bodies", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({
      extraRoutes: [echoRoute(), itemRoute()],
      limits: { bodyBytes: BODY_BYTES },
    });
  });
  after(() => server.close());

  it("reads JSON, whole, in pieces, chunked and byte by byte", async () => {
    const body = JSON.stringify({ label: "ünïcode" });
    assert.equal((await postJson(server.port, "/v1/echo", body)).status, 201);
    const bytes = Buffer.from(body);
    const client = connect(server.port);
    try {
      client.send(`${HEAD}Content-Length: ${bytes.length}\r\n\r\n`);
      for (const byte of bytes) client.send(Buffer.from([byte]));
      assert.deepEqual((await client.reply()).body, Buffer.from('{"label":"ünïcode"}').toString("latin1"));
      client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      for (const byte of bytes) client.send(Buffer.from([0x31, 13, 10, byte, 13, 10]));
      client.send("0\r\n\r\n");
      assert.equal((await client.reply()).status, 201);
    } finally {
      client.destroy();
    }
  });

  const types: [string, number][] = [
    ["application/json", 201],
    ["Application/JSON; charset=UTF-8", 201],
    ['application/json;charset="utf-8"', 201],
    ["application/json; charset=latin1", 415],
    ["application/jsonp", 415],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["", 415],
  ];
  for (const [type, status] of types) {
    it(`answers ${status} to the content type "${type}"`, async () => {
      const body = '{"label":"x"}';
      const reply = await exchange(
        server.port,
        ["POST /v1/echo HTTP/1.1", AUTHORIZATION, `Content-Type: ${type}`, `Content-Length: ${body.length}`],
        body,
      );
      assert.equal(reply.status, status);
      if (status === 415) assert.equal(reply.json().code, "unsupported_media_type");
    });
  }

  const { depth, members, values } = LIMITS.http.bodies.json;
  const deep = depth + 1;
  const malformed: [string, string | Buffer][] = [
    ["no body", ""],
    ["half an object", '{"label":'],
    ["two values", "{}{}"],
    ["a lone word", "nonsense"],
    ["bytes that are no UTF-8", Buffer.from('{"label":"\xff"}', "latin1")],
    ["a NUL", '{"label":"x"}\0'],
    ["deep arrays", `{"label":"x","nested":${"[".repeat(deep)}${"]".repeat(deep)}}`],
    ["deep objects, never closed", '{"a":'.repeat(800)],
    ["too many names", `{${Array.from({ length: members + 1 }, (_, i) => `"${i}":0`).join()}}`],
    ["too many values", `{"label":"x","nested":[${"0,".repeat(values)}0]}`],
  ];
  for (const [what, body] of malformed) {
    it(`answers 400 malformed_json to ${what}`, async () => {
      const reply = await postJson(server.port, "/v1/echo", body);
      assert.deepEqual([reply.status, reply.json().code], [400, "malformed_json"]);
    });
  }

  it("answers as soon as too much has come, and does not wait for the rest", async () => {
    const part = `{"label":"x","nested":[${"0,".repeat(values)}`;
    const head = [
      "POST /v1/echo HTTP/1.1",
      AUTHORIZATION,
      "Content-Type: application/json",
      `Content-Length: ${BODY_BYTES}`,
    ];
    const reply = await exchange(server.port, head, part);
    assert.deepEqual([reply.status, reply.json().code], [400, "malformed_json"]);
    assert.match(String(reply.json().detail), new RegExp(`more than ${values} values`));
  });

  it("does not count brackets within strings as depth", async () => {
    const reply = await postJson(
      server.port,
      "/v1/echo",
      JSON.stringify({ label: "x", nested: '\\"[{'.repeat(99) }),
    );
    assert.equal(reply.status, 201);
  });

  const invalid: [string, string, { path: string; message: string }[]][] = [
    ["an unknown field", '{"label":"x","lable":"y"}', [{ path: "lable", message: "is not a known field" }]],
    ["a missing field", "{}", [{ path: "label", message: "is required" }]],
    ["a wrong type", '{"label":1}', [{ path: "label", message: "must be string" }]],
    ["a wrong element", '{"label":"x","tags":["a",2]}', [{ path: "tags.1", message: "must be string" }]],
    [
      "an own __proto__",
      '{"label":"x","__proto__":{}}',
      [{ path: "__proto__", message: "is not a known field" }],
    ],
    ["an array", "[]", [{ path: "", message: "must be an object" }]],
    ["null", "null", [{ path: "", message: "must be an object" }]],
  ];
  for (const [what, body, errors] of invalid) {
    it(`names the field of ${what}`, async () => {
      const reply = await postJson(server.port, "/v1/echo", body);
      assert.equal(reply.status, 400);
      assert.deepEqual([reply.json().code, reply.json().errors], ["validation_failed", errors]);
    });
  }

  it("bounds the list of errors and what it repeats of the input", async () => {
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}`.padEnd(50, "x"), 1]));
    const reply = await postJson(
      server.port,
      "/v1/echo",
      JSON.stringify({ label: "x".repeat(999), ...wide }),
    );
    const { errors } = reply.json() as { errors: { path: string; message: string }[] };
    assert.ok(errors.length <= LIMITS.http.validationIssues);
    for (const { path, message } of errors) assert.ok(path.length <= 201 && message.length <= 301);
  });

  it("refuses a declared length over the limit before the body comes, and goes on with the connection", async () => {
    const client = connect(server.port);
    try {
      client.send(`${HEAD}Content-Length: ${BODY_BYTES + 1}\r\n\r\n`);
      await until("it is refused", () => client.received().includes('"body_too_large"'));
      client.send("x".repeat(BODY_BYTES + 1) + ALIVE);
      const reply = await client.reply();
      assert.deepEqual([reply.status, reply.headers.connection], [413, undefined]);
      assert.equal((await client.reply()).body, '{"status":"ok"}');
    } finally {
      client.destroy();
    }
  });

  it("refuses a chunked body when it passes the limit, and serves nothing that it holds", async () => {
    const client = connect(server.port);
    const chunk = `400\r\n${"x".repeat(1_024)}\r\n`;
    try {
      client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`);
      await until("it is refused", () => client.received().includes('"body_too_large"'));
      const hidden = `${ALIVE.length.toString(16)}\r\n${ALIVE}\r\n`;
      client.send(`${hidden}${chunk.repeat(50)}0\r\n\r\n`);
      const reply = await client.reply();
      assert.deepEqual([reply.status, reply.headers.connection], [413, "close"]);
      assert.equal(client.received(), "");
    } finally {
      client.destroy();
    }
  });

  it("lets a client that writes everything before it reads see the 413", async () => {
    const reply = await postJson(server.port, "/v1/echo", "x".repeat(2_000_000));
    assert.equal(reply.status, 413);
  });

  it("answers an unauthenticated request with 401 whatever the body, and keeps the connection", async () => {
    const client = connect(server.port);
    try {
      client.send("POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
      await until("it is refused", () => client.received().includes('"unauthorized"'));
      client.send(`hello${ALIVE}`);
      assert.equal((await client.reply()).status, 401);
      assert.equal((await client.reply()).body, '{"status":"ok"}');
    } finally {
      client.destroy();
    }
  });

  it("refuses lengths that a proxy might read otherwise, and closes", async () => {
    for (const fields of [
      "Content-Length: 2\r\nContent-Length: 3",
      "Content-Length: 2\r\nTransfer-Encoding: chunked",
    ]) {
      const client = connect(server.port);
      client.send(`${HEAD}${fields}\r\n\r\n{}`);
      const text = await client.closed();
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.equal(text.match(/Connection: close/g)?.length, 1);
    }
  });

  describe("of a request whose length is not clear", () => {
    const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    const length = `Content-Length: ${hidden.length}`;
    for (const fields of [
      `Content-Length: 0\r\n${length}`,
      `Content-Length:\r\n${length}`,
      `${length}\r\n${length}`,
      "Content-Length:",
      "Transfer-Encoding:",
      "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
      `Transfer-Encoding:\r\n${length}`,
      `${length}\r\nTransfer-Encoding: chunked`,
    ])
      it(`nothing behind it is served, whatever it asks for (${JSON.stringify(fields)})`, async () => {
        for (const line of [
          "GET /healthz",
          "HEAD /healthz",
          "GET /v1/verify?email=a@b.c",
          "OPTIONS /healthz",
          "POST /healthz",
          "POST /nothing",
          "POST /v1/echo",
          "DELETE /v1/items/x",
        ]) {
          const client = connect(server.port);
          const head = `${line} HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n${fields}\r\n\r\n`;
          client.send(head);
          const text = await client.closed();
          assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 400"], line);
          assert.match(text, /\r\nConnection: close\r\n/, line);
          // With more behind it, it may be closed without an answer.
          const together = connect(server.port);
          together.send(head + hidden);
          assert.doesNotMatch(await together.closed(), /HTTP\/1\.1 (?!400 )/, line);
        }
      });
  });

  it("is skipped where no handler reads it: its bytes are never taken for a request", async () => {
    const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    for (const [line, status] of [
      ["GET /healthz", 200],
      ["GET /v1/verify?email=a@b.c", 200],
      ["POST /healthz", 405],
      ["POST /nothing", 404],
      ["DELETE /v1/items/x", 404],
    ] as const)
      for (const body of [
        `Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
        `Transfer-Encoding: chunked\r\n\r\n${chunked}`,
      ]) {
        const client = connect(server.port);
        client.send(`${line} HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n${body}${ALIVE}`);
        assert.equal((await client.reply()).status, status, line);
        assert.equal((await client.reply()).body, '{"status":"ok"}', line);
        client.destroy();
      }
  });

  for (const fields of ["Content-Length: 2x", "Content-Length: -2", "Transfer-Encoding: chunked"]) {
    it(`answers a broken frame (${fields}) with 400 and closes`, async () => {
      const client = connect(server.port);
      client.send(`${HEAD}${fields}\r\n\r\nZZ\r\n`);
      assert.match(await client.closed(), /^HTTP\/1\.1 400 /);
    });
  }

  it("survives a client that goes in the middle of its body", async () => {
    const client = connect(server.port);
    client.send(`${HEAD}Content-Length: 100\r\n\r\n{"label":`);
    // Once a second connection has been served, the first one's bytes have been read.
    await get(server.port, "/healthz");
    client.destroy();
    await client.closed();
    assert.equal((await postJson(server.port, "/v1/echo", '{"label":"x"}')).status, 201);
    assert.ok(server.logged.some((event) => event.route === "/v1/echo" && event.status === 499));
  });

  it("answers 100-continue", async () => {
    const client = connect(server.port);
    try {
      client.send(`${HEAD}Expect: 100-continue\r\nContent-Length: 13\r\n\r\n`);
      client.send('{"label":"x"}');
      assert.equal((await client.reply()).status, 201);
    } finally {
      client.destroy();
    }
  });

  it("bounds what all bodies hold together", async () => {
    const tight = await startServer({
      extraRoutes: [echoRoute()],
      limits: { bodyBytes: 16_384, bodies: { ...LIMITS.http.bodies, teams: { bytes: 20_000, share: 1 } } },
    });
    const holder = connect(tight.port);
    try {
      holder.send(`${HEAD}Content-Length: 16384\r\n\r\n${" ".repeat(16_000)}`);
      await get(tight.port, "/healthz");
      const refused = await postJson(tight.port, "/v1/echo", " ".repeat(16_000));
      assert.deepEqual([refused.status, refused.json().code], [503, "overloaded"]);
      assert.equal(refused.headers["retry-after"], "1");
      holder.destroy();
      await holder.closed();
      await get(tight.port, "/healthz");
      assert.equal((await postJson(tight.port, "/v1/echo", '{"label":"x"}'.padEnd(16_000))).status, 201);
    } finally {
      holder.destroy();
      await tight.close();
    }
  });
});

describe("whatever is sent", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({ extraRoutes: [echoRoute()] });
  });
  after(() => server.close());

  it("no query gives a 500", async () => {
    const character = fc.oneof(
      fc.constantFrom(
        "%",
        "&",
        "=",
        "+",
        "#",
        "?",
        "email",
        "%00",
        "%0d%0a",
        "%ff",
        "%C3%BC",
        "refresh=",
        "__proto__",
      ),
      fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
    );
    const query = fc.array(character, { maxLength: 40 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        const reply = await get(server.port, `/v1/verify?${text}`);
        assert.ok([200, 400].includes(reply.status), `${reply.status} for ${JSON.stringify(text)}`);
        reply.json();
      }),
      { numRuns: 300 },
    );
  });

  it("no body gives a 500", async () => {
    const body = fc.oneof(
      fc.json().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc
        .record({ label: fc.anything(), extra: fc.anything() })
        .map((value) => Buffer.from(inspectable(value))),
    );
    await fc.assert(
      fc.asyncProperty(body, async (bytes) => {
        const reply = await postJson(server.port, "/v1/echo", bytes);
        assert.ok([201, 400].includes(reply.status), `${reply.status} for ${bytes.toString("latin1")}`);
      }),
      { numRuns: 300 },
    );
  });
});

/** JSON of anything that has some, else of nothing. */
function inspectable(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return "null";
  }
}
