import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { askServer, parseReply } from "../../../../scripts/mta/dialogue.ts";

const SENDER = { heloName: "probe.test", mailFrom: "probe@rcpt.test" };

for (const [line, code, enhancedCode] of [
  ["250 2.1.5 Ok", 250, "2.1.5"],
  ["550 Unrouteable address", 550, null],
  ["451-127.0.0.1 is not yet authorized", 451, null],
  ["550", 550, null],
] as const) {
  test(`parses "${line}"`, () => {
    assert.deepEqual(parseReply([line]), { code, enhancedCode, lines: [line] });
  });
}

for (const line of ["", "25 Ok", "2500 Ok", "HTTP/1.1 400 Bad Request", "650 Ok"])
  test(`refuses "${line}"`, () => {
    assert.throws(() => parseReply([line]), /no SMTP reply/);
  });

/** Serves one connection from a script: each line received takes the next answer. Resolves to what was received. */
async function dialogue(answers: string[]): Promise<{ heard: string[]; last: string[] | Error }> {
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
  const last = await askServer({ ip: "127.0.0.1", port }, SENDER, "a@b.test").then(
    (reply) => reply.lines,
    (error: Error) => error,
  );
  server.close();
  await once(server, "close");
  return { heard, last };
}

test("asks in lock step and gives the whole answer to RCPT", async () => {
  const { heard, last } = await dialogue([
    "220 hello\r\n",
    "250-mx\r\n250 PIPELINING\r\n",
    "250 ok\r\n",
    "451-not yet\r\n451 try later\r\n",
  ]);
  assert.deepEqual(last, ["451-not yet", "451 try later"]);
  assert.deepEqual(heard.slice(0, 3), [
    "EHLO probe.test",
    "MAIL FROM:<probe@rcpt.test>",
    "RCPT TO:<a@b.test>",
  ]);
});

test("stops at the first refusal", async () => {
  const { heard, last } = await dialogue(["220 hello\r\n", "250 mx\r\n", "550 5.7.1 go away\r\n"]);
  assert.deepEqual(last, ["550 5.7.1 go away"]);
  assert.deepEqual(heard.slice(0, 2), ["EHLO probe.test", "MAIL FROM:<probe@rcpt.test>"]);
});

test("a server that resets the connection is an error", async () => {
  const { last } = await dialogue(["220 hello\r\n"]);
  assert.match(String(last), /ECONNRESET|hung up/);
});
