import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { insertReset } from "../../../src/features/accounts/password-reset-sql.ts";
import { createDeliverMail, type SendMail } from "../../../src/features/mail/deliver.ts";
import { createMailOutbox } from "../../../src/features/mail/mail-outbox.ts";
import { createMailTransport } from "../../../src/features/mail/mail-transport.ts";
import { createMailQueue, type Mail, type MailQueue } from "../../../src/features/mail/queue.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createSecretBox } from "../../../src/platform/secret-box.ts";
import type { Database } from "../../../src/stores/postgres/postgres.ts";
import { createMailSink, type MailSink, type SinkReply } from "../../support/mail-sink.ts";
import { newTeam, openDatabase } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const KEY = Buffer.alloc(32, 7);
const MAIL: Mail = { to: "someone@example.com", subject: "A subject", text: "Some text.\n" };

interface Setting {
  sql: Database;
  queue: MailQueue;
  sink: MailSink;
  /** Lines of the log. */
  lines: string[];
  enqueue(mail?: Partial<Mail>): Promise<void>;
  /** One run of a relay's periodic task. */
  deliver(send?: SendMail): Promise<void>;
  waiting(): Promise<{ attempts: number; waits: boolean }[]>;
}

async function setUp(t: TestContext, reply?: SinkReply): Promise<Setting> {
  const { sql } = await openDatabase(t);
  const sink = await createMailSink(reply);
  t.after(() => sink.close());
  const queue = createMailQueue(createSecretBox(KEY));
  const lines: string[] = [];
  const log = createLog("debug", {}, { write: (line) => void lines.push(line) });
  const transport = createMailTransport({ url: sink.url, from: "rcpt@sender.example" });
  const team = await newTeam(sql);
  let invites = 0;
  return {
    sql,
    queue,
    sink,
    lines,
    async enqueue(mail = {}) {
      invites += 1;
      const id = `inv_${invites}`;
      await sql.begin(async (tx) => {
        await tx`
          insert into invites (id, team_id, email, role, invited_by, hash, expires_at)
          values (${id}, ${team.teamId}, ${`${id}@example.com`}, 'member', ${team.userId},
            sha256(${id}::bytea), now() + interval '1 day')`;
        await queue.enqueue(tx, { ...MAIL, ...mail }, { inviteId: id }, LIMITS.mail.keptMs);
      });
    },
    deliver: (send = transport) =>
      createDeliverMail({ outbox: createMailOutbox(sql), queue, send, random: () => 0.5, log })(() => false),
    waiting: async () => {
      const rows = await sql<{ attempts: number; waits: boolean }[]>`
        select attempts, next_attempt_at > now() as waits from mail_outbox order by id`;
      return [...rows];
    },
  };
}

/** Answers `command` with a reply that makes nodemailer fail. */
const after =
  (command: string, answer: string): SinkReply =>
  (line) =>
    line.startsWith(command) ? answer : null;

describe("the mail queue", () => {
  it("keeps nothing of a mail in clear, and sends it as it was written", async (t) => {
    const { sql, sink, enqueue, deliver, waiting } = await setUp(t);
    const text = `Größe: ${"long line ".repeat(40)}\n.\n..a dot\nrcpt_inv_token\n`;
    await enqueue({ subject: "Grüße", text });
    const [row] = await sql<[{ stored: string }]>`select mail_outbox::text as stored from mail_outbox`;
    assert.doesNotMatch(row.stored, /someone|token|Gr/);
    assert.equal(row.stored.includes(Buffer.from("someone").toString("hex")), false);
    await deliver();
    const [mail] = sink.mails;
    assert.deepEqual(
      [mail?.from, mail?.to, mail?.text.trimEnd()],
      ["rcpt@sender.example", ["someone@example.com"], text.trimEnd()],
    );
    assert.match(mail?.headers.get("subject") ?? "", /^=\?UTF-8\?/);
    assert.deepEqual(await waiting(), []);
  });

  it("lets nothing in an address or a subject add a header, a recipient or a command", async (t) => {
    const { sink, enqueue, deliver } = await setUp(t);
    await enqueue({ subject: "one\r\nBcc: other@example.com\r\n\r\nbody" });
    await enqueue({ to: '"a> RCPT TO:<b"@example.com' });
    await enqueue({ to: "x@example.com, other@example.com" });
    await enqueue({ to: "last@example.com" });
    await deliver();
    for (const mail of sink.mails) {
      assert.equal(mail.headers.has("bcc"), false);
      assert.equal(mail.to.length, 1);
      assert.notDeepEqual(mail.to, ["other@example.com"]);
    }
    // Characters that could end a path are neutralised: the mails go to no other address.
    assert.deepEqual(sink.mails.map(({ to }) => to[0]).sort(), [
      '"a  RCPT TO: b"@example.com',
      '"x@example.com, other"@example.com',
      "last@example.com",
      "someone@example.com",
    ]);
  });

  for (const [what, reply] of [
    ["the recipient is refused for now", after("RCPT", "451 4.7.1 later")],
    ["the message is refused for now", after("<message>", "452 4.3.1 full")],
    ["the sender is refused", after("MAIL", "550 5.7.1 not you")],
    ["the server turns us away", after("<connect>", "554 5.7.1 go away")],
    ["the server is closing", after("DATA", "421 4.3.2 closing")],
  ] as const) {
    it(`keeps a mail when ${what}, and tries again later`, async (t) => {
      const { sql, sink, lines, enqueue, deliver, waiting } = await setUp(t, reply);
      await enqueue();
      await deliver();
      await deliver();
      assert.deepEqual(await waiting(), [{ attempts: 1, waits: true }]);
      await sql`update mail_outbox set next_attempt_at = now()`;
      await deliver();
      assert.deepEqual(await waiting(), [{ attempts: 2, waits: true }]);
      const [row] = await sql<[{ seconds: number }]>`
        select round(extract(epoch from next_attempt_at - now()))::int as seconds from mail_outbox`;
      assert.ok(row.seconds > 15 && row.seconds <= 20, `${row.seconds}`);
      assert.equal(sink.mails.length, 0);
      assert.doesNotMatch(lines.join(), /someone/);
    });
  }

  for (const [what, reply] of [
    ["the recipient is refused", after("RCPT", "550 5.1.1 <someone@example.com> unknown")],
    ["the message is refused", after("<message>", "554 5.7.1 spam for someone@example.com")],
  ] as const) {
    it(`drops a mail when ${what} for good, and logs that without the address`, async (t) => {
      const { lines, enqueue, deliver, waiting } = await setUp(t, reply);
      await enqueue();
      await deliver();
      assert.deepEqual(await waiting(), []);
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? "", /dropping/);
      assert.match(lines[0] ?? "", /"mail":"mail_/);
      assert.doesNotMatch(lines[0] ?? "", /someone|example\.com/);
    });
  }

  it("sends links for a new password before the invitations that have waited longer", async (t) => {
    const { sql, queue, sink, enqueue, deliver } = await setUp(t);
    for (let i = 0; i < 10; i++) await enqueue({ to: `person${i}@example.com` });
    const [user] = await sql<[{ id: string }]>`select id from users`;
    const resetHash = Buffer.alloc(32, 1);
    await sql.begin(async (tx) => {
      await insertReset(tx, user.id, resetHash);
      await queue.enqueue(tx, { ...MAIL, to: "locked-out@example.com" }, { resetHash }, 60_000);
    });
    await deliver();
    assert.equal(sink.mails.length, 11);
    const place = sink.mails.findIndex(({ to }) => to[0] === "locked-out@example.com");
    assert.ok(place < LIMITS.mail.inFlight, `${place}`);
  });

  it("drops what it cannot read, and goes on", async (t) => {
    const { sql, sink, lines, enqueue, deliver, waiting } = await setUp(t);
    const other = createMailQueue(createSecretBox(Buffer.alloc(32, 8)));
    await enqueue();
    await sql.begin((tx) => other.enqueue(tx, MAIL, { inviteId: "inv_1" }, 60_000));
    await sql`
      insert into mail_outbox (id, sealed, expires_at)
      values ('mail_copy', (select sealed from mail_outbox limit 1), now() + interval '1 day')`;
    await enqueue();
    await deliver();
    assert.equal(sink.mails.length, 2);
    assert.deepEqual(await waiting(), []);
    assert.equal(lines.filter((line) => line.includes("unreadable mail")).length, 2);
  });

  it("sends each mail once, with four relays at it", async (t) => {
    const { sink, enqueue, deliver, waiting } = await setUp(t);
    for (let i = 0; i < 40; i++) await enqueue({ to: `person${i}@example.com` });
    await Promise.all([deliver(), deliver(), deliver(), deliver()]);
    assert.deepEqual(
      sink.mails.map(({ to }) => to[0]).sort(),
      Array.from({ length: 40 }, (_, i) => `person${i}@example.com`).sort(),
    );
    assert.equal(new Set(sink.mails.map(({ headers }) => headers.get("message-id"))).size, 40);
    assert.deepEqual(await waiting(), []);
  });

  it("gives what a dead relay held to another once the lease ends, and believes the dead one no more", async (t) => {
    const { sql, sink, enqueue, deliver, waiting } = await setUp(t);
    const outbox = createMailOutbox(sql);
    await enqueue();
    const [held] = await outbox.leaseDue(10);
    assert.ok(held);
    await deliver();
    assert.equal(sink.mails.length, 0);
    await sql`update mail_outbox set next_attempt_at = now()`;
    await deliver(async () => ({ sent: false, permanent: false, code: "x" }));
    await outbox.remove(held);
    await outbox.postpone(held, 0);
    assert.deepEqual(await waiting(), [{ attempts: 2, waits: true }]);
  });

  it("sends nothing whose time has passed, and prunes it", async (t) => {
    const { sql, sink, enqueue, deliver, waiting } = await setUp(t);
    await enqueue();
    await sql`update mail_outbox set expires_at = now() - interval '1 second'`;
    await deliver();
    assert.deepEqual([sink.mails.length, (await waiting()).length], [0, 1]);
    await createMailOutbox(sql).prune();
    assert.deepEqual(await waiting(), []);
  });

  it("stops between two mails when the relay does", async (t) => {
    const { sql, queue, enqueue, waiting } = await setUp(t);
    for (let i = 0; i < 10; i++) await enqueue();
    let sent = 0;
    const send: SendMail = async () => {
      sent++;
      return { sent: true };
    };
    const outbox = createMailOutbox(sql);
    const log = createLog("silent");
    await createDeliverMail({ outbox, queue, send, random: Math.random, log })(() => sent >= 3);
    assert.ok(sent >= 3 && sent < 3 + LIMITS.mail.inFlight, `${sent}`);
    assert.equal((await waiting()).length, 10 - sent);
  });
});

describe("the mail server", () => {
  it("that says nothing holds an attempt no longer than it may take", async (t) => {
    const { sink } = await setUp(t, after("<connect>", ""));
    const beganMs = performance.now();
    const send = createMailTransport({ url: sink.url, from: "rcpt@sender.example" }, 300);
    assert.equal((await send("mail_1", MAIL)).sent, false);
    // Far above the 300 ms on any machine, and far below what the client waits for a greeting by itself.
    assert.ok(performance.now() - beganMs < 20_000);
  });

  it("that drips holds an attempt no longer than it may take, and its connection is closed", async (t) => {
    let open = 0;
    const server = createServer((socket) => {
      open++;
      const drip = setInterval(() => socket.write("220-\r\n"), 20);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open--;
        clearInterval(drip);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const send = createMailTransport({ url: `smtp://127.0.0.1:${port}`, from: "rcpt@sender.example" }, 300);
    const outcome = await send("mail_1", MAIL);
    assert.deepEqual([outcome.sent, "permanent" in outcome && outcome.permanent], [false, false]);
    await until("the connection is closed", () => open === 0);
  });

  it("that offers no STARTTLS, or from whose reply it was stripped, gets neither password nor mail", async (t) => {
    const said: string[] = [];
    const { sink } = await setUp(t, (line) => {
      said.push(line);
      return line.startsWith("STARTTLS") ? "502 5.5.1 what?" : null;
    });
    // Not a name of loopback, though it leads there.
    const elsewhere = sink.url.replace("127.0.0.1", "user:secret@0.0.0.0");
    for (const url of [elsewhere, `${sink.url}?requireTLS=true`]) {
      const outcome = await createMailTransport({ url, from: "rcpt@sender.example" })("mail_1", MAIL);
      assert.deepEqual([outcome.sent, "permanent" in outcome && outcome.permanent], [false, false]);
    }
    assert.ok(said.includes("STARTTLS"), said.join("; "));
    assert.doesNotMatch(said.join("; "), /AUTH|MAIL|RCPT/);
    assert.equal(sink.mails.length, 0);
    const open = `${sink.url.replace("127.0.0.1", "0.0.0.0")}?requireTLS=false`;
    assert.equal(
      (await createMailTransport({ url: open, from: "rcpt@sender.example" })("mail_1", MAIL)).sent,
      true,
    );
  });

  it("that cannot be reached is tried again", async () => {
    const send = createMailTransport({ url: "smtp://127.0.0.1:1", from: "rcpt@sender.example" });
    const outcome = await send("mail_1", MAIL);
    assert.deepEqual([outcome.sent, "permanent" in outcome && outcome.permanent], [false, false]);
  });
});
