import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import * as dnsPacket from "dns-packet";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import type { ZoneType } from "../../support/mail-world/zone.ts";

let world: MailWorld;
before(async () => {
  world = await createMailWorld();
});
afterEach(() => world.resetCounters());
after(() => world.close());

interface Answer extends dnsPacket.DecodedPacket {
  rcode: number;
}

const port = () => Number(world.dnsServer.split(":")[1]);

function query(name: string, type: ZoneType, id: number, udpPayloadSize?: number): Buffer {
  const opt: dnsPacket.Answer = {
    type: "OPT",
    name: ".",
    udpPayloadSize: udpPayloadSize ?? 0,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  const additionals = udpPayloadSize === undefined ? [] : [opt];
  return dnsPacket.encode({
    type: "query",
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ name, type }],
    additionals,
  });
}

function decode(message: Buffer): Answer {
  return { ...dnsPacket.decode(message), rcode: message.readUInt16BE(2) & 0xf };
}

/** All datagrams up to the answer of a later question: the server answers in order. */
async function udpAll(name: string, type: ZoneType, udpPayloadSize?: number): Promise<Buffer[]> {
  const socket = createSocket("udp4");
  const messages: Buffer[] = [];
  try {
    await new Promise<void>((resolve) => {
      socket.on("message", (message) => {
        if (message.readUInt16BE(0) === 2) resolve();
        else messages.push(message);
      });
      socket.send(query(name, type, 7, udpPayloadSize), port(), "127.0.0.1");
      socket.send(query("ns.test", "A", 2), port(), "127.0.0.1");
    });
  } finally {
    socket.close();
  }
  return messages;
}

async function udp(name: string, type: ZoneType, udpPayloadSize?: number): Promise<Answer> {
  const [message, ...more] = await udpAll(name, type, udpPayloadSize);
  assert.ok(message, "no answer");
  assert.equal(more.length, 0);
  return decode(message);
}

/** null when the server hangs up. */
function tcp(name: string, type: ZoneType): Promise<Answer | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(port(), "127.0.0.1");
    let data = Buffer.alloc(0);
    const message = query(name, type, 7);
    socket.write(Buffer.from([0]));
    socket.write(Buffer.concat([Buffer.from([message.length]), message]));
    socket.on("error", reject);
    socket.on("close", () => resolve(null));
    socket.on("data", (chunk) => {
      data = Buffer.concat([data, chunk]);
      if (data.length < 2 || data.length < 2 + data.readUInt16BE(0)) return;
      resolve(decode(data.subarray(2)));
      socket.destroy();
    });
  });
}

/** `preference exchange`, addresses or CNAME targets, as they stand in the answer. */
function shown(answer: Answer | null): string[] {
  return (answer?.answers ?? []).map((record) => {
    if (record.type === "MX") return `${record.data.preference} ${record.data.exchange}`;
    if (record.type === "CNAME") return `CNAME ${record.data}`;
    return record.type === "A" || record.type === "AAAA" ? record.data : record.type;
  });
}

const ttl = (answer: Answer) => (answer.answers?.[0] as { ttl?: number } | undefined)?.ttl;
const negativeTtl = (answer: Answer) => {
  const soa = answer.authorities?.[0];
  return soa?.type === "SOA" ? [soa.ttl, soa.data.minimum] : null;
};

describe("true answers", () => {
  it("MX and A of every host", async () => {
    for (const host of world.hosts()) {
      if (!host.name.startsWith("mx.")) continue;
      assert.deepEqual(shown(await udp(host.name.slice(3), "MX")), [`10 ${host.name}`]);
      assert.deepEqual(shown(await udp(host.name, "A")), [host.address]);
    }
  });

  it("records as they are in the zone", async () => {
    assert.deepEqual(shown(await udp("preferences.test", "MX")), [
      "30 mx.catchall.test",
      "10 mx.plain.test",
      "20 mx.catchall.test",
    ]);
    assert.deepEqual(shown(await udp("implicit-aaaa.test", "AAAA")), ["::1"]);
    assert.deepEqual(shown(await udp("mixed-case.test", "MX")), ["10 MX.Plain.TEST"]);
    assert.deepEqual(shown(await udp("nullmx.test", "MX")), ["0 ."]);
    assert.deepEqual(shown(await udp("mx-literal.test", "MX")), [
      `10 ${world.host("mx.plain.test").address}`,
    ]);
    assert.equal(shown(await tcp("mx-hundred.test", "MX")).length, 100);
    assert.equal(shown(await tcp("huge.test", "MX")).length, 1_001);
  });

  it("TTLs, also negative ones", async () => {
    assert.equal(ttl(await udp("plain.test", "MX")), 300);
    assert.equal(ttl(await udp("short-ttl.test", "MX")), 5);
    assert.equal(ttl(await udp("zero-ttl.test", "MX")), 0);
    assert.deepEqual(negativeTtl(await udp("nodata.test", "MX")), [60, 60]);
    assert.deepEqual(negativeTtl(await udp("short-negative.test", "MX")), [5, 5]);
  });

  it("NXDOMAIN, NODATA and REFUSED apart", async () => {
    for (const [name, rcode] of [
      ["nowhere.test", 3],
      ["127.0.0.10", 3],
      ["nodata.test", 0],
      ["hosts.test", 0],
      ["example.com", 5],
    ] as const) {
      const answer = await udp(name, "MX");
      assert.deepEqual([answer.rcode, shown(answer)], [rcode, []], name);
    }
  });

  it("CNAME chains, loops and loose ends", async () => {
    assert.deepEqual(shown(await udp("cname.test", "MX")), [
      "CNAME cname-2.test",
      "CNAME Cname-3.test",
      "10 mx.plain.test",
    ]);
    assert.deepEqual(shown(await udp("cname-loop.test", "MX")), [
      "CNAME cname-loop-2.test",
      "CNAME cname-loop.test",
    ]);
    const loose = await udp("cname-nowhere.test", "MX");
    assert.deepEqual([loose.rcode, shown(loose)], [3, ["CNAME nowhere.test"]]);
    assert.deepEqual(shown(await udp("alias.hosts.test", "A")), [
      "CNAME mx.plain.test",
      world.host("mx.plain.test").address,
    ]);
  });

  it("the question comes back in the case it was asked", async () => {
    const answer = await udp("PlAiN.tEsT", "MX");
    assert.equal(answer.questions?.[0]?.name, "PlAiN.tEsT");
    assert.deepEqual(shown(answer), ["10 mx.plain.test"]);
    assert.equal(world.dns.count("plain.test", "MX"), 1);
  });
});

describe("answers that mislead", () => {
  it("failures for MX, and a server behind the A record that a client must not fall for", async () => {
    for (const [name, rcode] of [
      ["servfail.test", 2],
      ["refused.test", 5],
      ["notimp.test", 4],
    ] as const) {
      const answer = await udp(name, "MX");
      assert.deepEqual([answer.rcode, shown(answer)], [rcode, []]);
      assert.deepEqual(shown(await udp(name, "A")), [world.host("mx.plain.test").address]);
    }
  });

  it("truncation by size, by EDNS, and on principle", async () => {
    assert.deepEqual(shown(await udp("mx-hundred.test", "MX")), []);
    assert.equal((await udp("mx-hundred.test", "MX")).flag_tc, true);
    assert.equal(shown(await udp("mx-hundred.test", "MX", 8_192)).length, 100);
    assert.equal((await udp("truncated.test", "MX", 4_096)).flag_tc, true);
    assert.deepEqual(shown(await tcp("truncated.test", "MX")), ["10 mx.plain.test"]);
    assert.equal((await udp("truncated-for-good.test", "MX")).flag_tc, true);
    assert.equal(await tcp("truncated-for-good.test", "MX"), null);
  });

  it("forged answers, with and without the true one behind them", async () => {
    const [wrongId, wrongQuestion, truth] = (await udpAll("spoofed.test", "MX")).map(decode);
    assert.deepEqual([wrongId?.id, shown(wrongId ?? null)], [8, ["1 mx.trap.test"]]);
    assert.deepEqual([wrongQuestion?.id, wrongQuestion?.questions?.[0]?.name], [7, "elsewhere.test"]);
    assert.deepEqual([truth?.id, shown(truth ?? null)], [7, ["10 mx.plain.test"]]);
    assert.equal((await udpAll("forged.test", "MX")).length, 2);
  });

  it("silence and garbage", async () => {
    assert.deepEqual(await udpAll("silent.test", "MX"), []);
    const [garbage = Buffer.alloc(0), ...more] = await udpAll("garbage-dns.test", "MX");
    assert.equal(more.length, 0);
    assert.throws(() => assert.equal(dnsPacket.decode(garbage).id, 7));
  });
});

describe("the query log and the hold", () => {
  it("counts by name and type, and TCP apart", async () => {
    await udp("plain.test", "MX");
    await udp("plain.test", "MX");
    await udp("plain.test", "A");
    await tcp("plain.test", "MX");
    assert.deepEqual([world.dns.count("plain.test", "MX"), world.dns.count("PLAIN.test", "A")], [3, 1]);
    assert.deepEqual([world.dns.totals.queries, world.dns.totals.tcp], [7, 1]);
    world.resetCounters();
    assert.equal(world.dns.count("plain.test", "MX"), 0);
  });

  it("holds answers until released", async () => {
    world.dns.hold();
    const answer = udp("plain.test", "MX");
    await world.until(() => world.dns.totals.held === 2);
    world.dns.release();
    assert.deepEqual(shown(await answer), ["10 mx.plain.test"]);
    assert.equal(world.dns.totals.held, 0);
  });

  it("takes new records, also outside .test", async () => {
    world.dns.set("Customer.example", { mx: [[5, "mx.plain.test"]], ttlS: 9 });
    assert.deepEqual(shown(await udp("customer.example", "MX")), ["5 mx.plain.test"]);
    world.dns.remove("customer.example");
    assert.equal((await udp("customer.example", "MX")).rcode, 5);
  });

  it("ignores what is no query", async () => {
    const socket = createSocket("udp4");
    await new Promise((resolve) => socket.send(Buffer.from("hello"), port(), "127.0.0.1", resolve));
    socket.close();
    assert.deepEqual(shown(await udp("plain.test", "MX")), ["10 mx.plain.test"]);
  });
});
