import assert from "node:assert/strict";
import { describe, it } from "node:test";
import ipaddr from "ipaddr.js";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { hostOf, readWebhookUrl } from "../../../../src/features/webhooks/url.ts";
import { mayDial } from "../../../../src/platform/public-address.ts";
import fc from "../../../support/properties.ts";

const read = (text: string, privateAddresses = false) => readWebhookUrl(text, privateAddresses);
const refused = (text: string, privateAddresses = false) => "problem" in read(text, privateAddresses);

describe("the URL of a webhook", () => {
  it("is taken in normal form", () => {
    assert.deepEqual(read("https://hooks.example.com"), { url: "https://hooks.example.com/" });
    assert.deepEqual(read("https://Hooks.Example.com:443/a?b=c"), { url: "https://hooks.example.com/a?b=c" });
    assert.deepEqual(read("https://münchen.example/ä"), { url: "https://xn--mnchen-3ya.example/%C3%A4" });
    assert.deepEqual(read("https://example.com:8443/"), { url: "https://example.com:8443/" });
    assert.deepEqual(read("https://8.8.8.8/"), { url: "https://8.8.8.8/" });
    assert.deepEqual(read("https://[2606:4700::1111]/"), { url: "https://[2606:4700::1111]/" });
  });

  it("is https, public, without credentials, fragment or what the parser would drop", () => {
    for (const text of [
      "",
      "example.com/hook",
      "http://example.com/",
      "ftp://example.com/",
      "javascript:alert(1)",
      "file:///etc/passwd",
      "https://",
      "https://user@example.com/",
      "https://user:pass@example.com/",
      "https://:pass@example.com/",
      "https://example.com/#a",
      "https://example.com/#",
      "https://exa\tmple.com/",
      "https://example.com/\n",
      " https://example.com/",
      "https:\\\\example.com\\",
      "https://example.com\\@127.0.0.1/",
      "https://example.com:25/",
      "https://example.com:0/",
      "https://example.com:65536/",
      "https://localhost/",
      "https://LOCALHOST./",
      "https://a.localhost/",
      "https://intranet/",
      "https://intranet./",
      "https://./",
      "https://a..example.com/",
      "https://.example.com/",
      `https://${"a".repeat(64)}.example.com/`,
      `https://${"a.".repeat(126)}example.com/`,
      "https://168.63.129.16/",
      "https://[::ffff:168.63.129.16]/",
      `https://example.com/${"a".repeat(LIMITS.webhooks.urlChars)}`,
      `https://example.com/${"ä".repeat(LIMITS.webhooks.urlChars / 5)}`,
    ])
      assert.ok(refused(text), text);
  });

  it("may be plain http and private where the operator allows it, but never the unspecified address", () => {
    for (const text of [
      "http://127.0.0.1:8080/x",
      "http://localhost/",
      "http://receiver:3000/",
      "http://[::1]/",
    ])
      assert.deepEqual(read(text, true), { url: text });
    for (const text of [
      "http://a..b/",
      "http://0.0.0.0/",
      "http://[::]/",
      "http://224.0.0.1/",
      "http://255.255.255.255/",
    ])
      assert.ok(refused(text, true), text);
  });

  it("names no private address in any of the forms that URLs know", () => {
    const outside = fc
      .tuple(
        fc.constantFrom(
          [127],
          [10],
          [0],
          [169, 254],
          [192, 168],
          [172, 16],
          [100, 64],
          [224],
          [198, 18],
          [255],
        ),
        fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 3, maxLength: 3 }),
      )
      .map(([head, tail]) => [...head, ...tail].slice(0, 4) as [number, number, number, number]);
    const part = (n: number, base: number) =>
      base === 16 ? `0x${n.toString(16)}` : base === 8 ? `0${n.toString(8)}` : String(n);
    const form = fc
      .tuple(outside, fc.constantFrom(8, 10, 16), fc.constantFrom(1, 2, 3, 4), fc.constantFrom("", "."))
      .map(([bytes, base, parts, dot]) => {
        const head = bytes.slice(0, parts - 1).map((byte) => part(byte, base));
        const rest = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
        return `https://${[...head, part(rest, base)].join(".")}${dot}/`;
      });
    fc.assert(
      fc.property(form, (text) => {
        // The URL parser must have read the host as an IPv4 address, or the test would prove nothing.
        assert.equal(ipaddr.IPv4.isValid(hostOf(new URL(text))), true, text);
        return refused(text);
      }),
    );
    const inIpv6 = fc
      .tuple(outside, fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"))
      .map(([bytes, prefix]) => `https://[${prefix}${bytes.join(".")}]/`);
    fc.assert(fc.property(inIpv6, (text) => refused(text)));
    for (const host of ["::1", "::", "fe80::1", "fc00::1", "ff02::1", "2002:7f00:1::", "2001:db8::1"])
      assert.ok(refused(`https://[${host}]/`), host);
  });

  it("never lets a private literal through, whatever the text, and stays the same when read again", () => {
    const host = fc.oneof(
      fc.ipV4Extended(),
      fc.ipV6().map((ip) => `[${ip}]`),
      fc.domain(),
      fc.string(),
    );
    const url = fc
      .tuple(fc.constantFrom("https://", "http://", ""), host, fc.webPath(), fc.boolean())
      .map(([scheme, name, path, allowed]) => [`${scheme}${name}${path}`, allowed] as const);
    fc.assert(
      fc.property(url, ([text, allowed]) => {
        const taken = read(text, allowed);
        if ("problem" in taken) return;
        assert.deepEqual(read(taken.url, allowed), taken);
        const target = hostOf(new URL(taken.url));
        if (ipaddr.isValid(target)) assert.ok(mayDial(target, allowed), target);
      }),
      { numRuns: 500 },
    );
  });
});
