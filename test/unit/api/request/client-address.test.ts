import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClientAddresses } from "../../../../src/api/request/client-address.ts";

const peer = (text: string) => new Uint8Array(text.split(".").map(Number));
const mapped = (text: string) => new Uint8Array([...Array(10).fill(0), 255, 255, ...peer(text)]);

describe("the client's address", () => {
  const none = createClientAddresses([]);
  const behind = createClientAddresses(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);

  it("is the peer's, whatever the header claims, when no proxy is trusted", () => {
    assert.equal(none.readsForwardedFor, false);
    assert.equal(none.resolve(peer("198.51.100.1"), "203.0.113.9"), "198.51.100.1");
  });

  const cases: [string, Uint8Array, string, string][] = [
    ["an untrusted peer's header is ignored", peer("198.51.100.1"), "203.0.113.9", "198.51.100.1"],
    ["a trusted peer names the client", peer("10.1.2.3"), "203.0.113.9", "203.0.113.9"],
    [
      "what the client claims to the left is ignored",
      peer("10.1.2.3"),
      "1.1.1.1, 203.0.113.9",
      "203.0.113.9",
    ],
    ["a chain of proxies is followed", peer("10.1.2.3"), "203.0.113.9,192.0.2.7, 10.9.9.9", "203.0.113.9"],
    ["only proxies: the left-most of them", peer("10.1.2.3"), "10.5.5.5, 10.6.6.6", "10.5.5.5"],
    ["a port of IPv4", peer("10.1.2.3"), "1.1.1.1:1, 203.0.113.9:5123, 10.9.9.9:80", "203.0.113.9"],
    ["a port of IPv6", peer("10.1.2.3"), "[2a00::1]:443, [2001:db8::7]:8080", "2a00::1"],
    ["IPv6 in brackets", peer("10.1.2.3"), "[2a00::1]", "2a00::1"],
    ["no port after a colon", peer("10.1.2.3"), "203.0.113.9:", "10.1.2.3"],
    ["a port that is none", peer("10.1.2.3"), "203.0.113.9:http", "10.1.2.3"],
    ["nonsense ends the chain", peer("10.1.2.3"), "203.0.113.9, unknown", "10.1.2.3"],
    ["a number is no address", peer("10.1.2.3"), "1", "10.1.2.3"],
    ["nor are two parts", peer("10.1.2.3"), "127.1", "10.1.2.3"],
    ["nor octal ones", peer("10.1.2.3"), "010.0.0.1", "10.1.2.3"],
    ["nor hexadecimal ones", peer("10.1.2.3"), "0x7f000001", "10.1.2.3"],
    ["an empty header", peer("10.1.2.3"), "", "10.1.2.3"],
    ["IPv4 in IPv6", mapped("10.1.2.3"), "203.0.113.9", "203.0.113.9"],
    ["an IPv6 client", peer("10.1.2.3"), "2a00::1", "2a00::1"],
    ["a trusted IPv6 proxy", peer("10.1.2.3"), "203.0.113.9, 2001:db8::1", "203.0.113.9"],
    ["no address at all", new Uint8Array(0), "203.0.113.9", "unknown"],
  ];
  for (const [what, address, header, expected] of cases) {
    it(what, () => assert.equal(behind.resolve(address, header), expected));
  }
});
