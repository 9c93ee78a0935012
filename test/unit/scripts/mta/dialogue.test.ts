import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { askServer, parseReply, type RawReply, wearOut } from "../../../../scripts/mta/dialogue.ts";

const QUESTION = {
  ip: "127.0.0.1",
  heloName: "probe.test",
  mailFrom: "probe@rcpt.test",
  recipient: "a@b.test",
  tls: false,
};

for (const [line, code, enhancedCode] of [
  ["250 2.1.5 Ok", 250, "2.1.5"],
  ["550 Unrouteable address", 550, null],
  ["451-127.0.0.1 is not yet authorized", 451, null],
  ["550", 550, null],
] as const) {
  test(`parses "${line}"`, () => {
    assert.deepEqual(parseReply([line]), { code, enhancedCode, lines: [line], to: "RCPT" });
  });
}

for (const line of ["", "25 Ok", "2500 Ok", "HTTP/1.1 400 Bad Request", "650 Ok"])
  test(`refuses "${line}"`, () => {
    assert.throws(() => parseReply([line]), /no SMTP reply/);
  });

/** Serves one connection from a script: each received line gets the next answer. Resolves to the received lines. */
async function dialogue<T>(
  answers: string[],
  ask: (port: number) => Promise<T>,
): Promise<{ heard: string[]; said: T | Error }> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    const left = [...answers];
    const say = () => {
      const answer = left.shift();
      if (answer === undefined) socket.resetAndDestroy();
      else socket.write(answer);
    };
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      heard.push(bytes.toString("latin1").trim());
      say();
    });
    say();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const said = await ask(port).catch((error: Error) => error);
  server.close();
  await once(server, "close");
  return { heard, said };
}

const askOne = (port: number) => askServer({ ...QUESTION, port });
const linesOf = (said: RawReply | Error) => (said instanceof Error ? said : said.lines);

test("asks in lock step and gives the whole answer to RCPT", async () => {
  const { heard, said } = await dialogue(
    ["220 hello\r\n", "250-mx\r\n250 PIPELINING\r\n", "250 ok\r\n", "451-not yet\r\n451 try later\r\n"],
    askOne,
  );
  assert.deepEqual(linesOf(said), ["451-not yet", "451 try later"]);
  assert.deepEqual(heard.slice(0, 3), [
    "EHLO probe.test",
    "MAIL FROM:<probe@rcpt.test>",
    "RCPT TO:<a@b.test>",
  ]);
});

test("stops at the first refusal, and says what was refused", async () => {
  const { heard, said } = await dialogue(["220 hello\r\n", "250 mx\r\n", "550 5.7.1 go away\r\n"], askOne);
  assert.deepEqual(said, { code: 550, enhancedCode: "5.7.1", lines: ["550 5.7.1 go away"], to: "MAIL" });
  assert.deepEqual(heard.slice(0, 2), ["EHLO probe.test", "MAIL FROM:<probe@rcpt.test>"]);
});

test("a greeting that is taken back is the refusal", async () => {
  const { said } = await dialogue(["220-mx ESMTP\r\n521 5.7.1 blocked using dnsbl.test\r\n"], askOne);
  assert.ok(!(said instanceof Error));
  assert.deepEqual([said.code, said.enhancedCode, said.to], [521, "5.7.1", "greeting"]);
});

test("a server that resets the connection is an error", async () => {
  const { said } = await dialogue(["220 hello\r\n"], askOne);
  assert.match(String(said), /ECONNRESET|hung up/);
});

test("an address that is not ASCII is asked for with SMTPUTF8", async () => {
  const { heard } = await dialogue(["220 hello\r\n", "250 mx\r\n", "250 ok\r\n", "250 ok\r\n"], (port) =>
    askServer({ ...QUESTION, port, recipient: "\u00e9@b.test" }),
  );
  assert.equal(heard[1], "MAIL FROM:<probe@rcpt.test> SMTPUTF8");
});

const WRONG = ["1@b.test", "2@b.test", "3@b.test"];

test("wearing out ends with the 421 of the server, and counts what was answered", async () => {
  const { said } = await dialogue(
    ["220 hello\r\n", "250 mx\r\n", "250 ok\r\n", "550 no\r\n", "421 too many errors\r\n"],
    (port) => wearOut({ ...QUESTION, port }, WRONG, false),
  );
  assert.ok(!(said instanceof Error));
  assert.deepEqual([said.asked, said.last?.lines], [1, ["421 too many errors"]]);
});

test("wearing out knows a server that says why and hangs up, and one that bears with all", async () => {
  const begun = ["220 hello\r\n", "250 mx\r\n", "250 ok\r\n", "550 no\r\n"];
  const hungUp = await dialogue([...begun, "550 too many failed\r\n"], (port) =>
    wearOut({ ...QUESTION, port }, WRONG, false),
  );
  assert.ok(!(hungUp.said instanceof Error));
  assert.deepEqual([hungUp.said.asked, hungUp.said.last?.lines], [2, ["550 too many failed"]]);
  const borne = await dialogue([...begun, "550 no\r\n", "550 no\r\n"], (port) =>
    wearOut({ ...QUESTION, port }, WRONG, false),
  );
  assert.ok(!(borne.said instanceof Error));
  assert.deepEqual([borne.said.asked, borne.said.last], [3, null]);
});
