import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROVIDER_MX_SUFFIXES } from "../../../src/check/providers.ts";
import { siteOf } from "../../../src/check/site.ts";

describe("siteOf: known providers", () => {
  const cases: [string, string[]][] = [
    ["google", ["aspmx.l.google.com", "alt1.aspmx.l.google.com", "aspmx2.googlemail.com"]],
    ["google", ["smtp.google.com"]],
    ["google", ["gmail-smtp-in.l.google.com"]],
    ["microsoft365", ["example-com.mail.protection.outlook.com"]],
    ["microsoft365", ["example-com.a-v1.mx.microsoft"]],
    ["outlook", ["outlook-com.olc.protection.outlook.com"]],
    ["yahoo", ["mta5.am0.yahoodns.net"]],
    ["apple", ["mx01.mail.icloud.com"]],
    ["proton", ["mail.protonmail.ch", "mailsec.protonmail.ch"]],
    ["zoho", ["mx.zoho.com"]],
    ["mimecast", ["eu-smtp-inbound-1.mimecast.com"]],
    ["proofpoint", ["mxa-00000000.gslb.pphosted.com"]],
    ["barracuda", ["d1.ess.barracudanetworks.com"]],
    ["cisco", ["mx1.hc000-00.eu.iphmx.com"]],
    ["godaddy", ["smtp.secureserver.net", "mailstore1.secureserver.net"]],
    ["ovh", ["mx1.mail.ovh.net"]],
    ["ionos", ["mx00.kundenserver.de"]],
    ["ionos", ["mx00.ionos.de"]],
    ["orange", ["smtp-in.orange.fr"]],
    ["comcast", ["mx1.comcast.net"]],
    ["gmx", ["mx00.gmx.net"]],
    ["gmx", ["mx-ha02.web.de"]],
    ["mailru", ["mxs.mail.ru"]],
    ["yandex", ["mx.yandex.ru"]],
    ["qq", ["mxbiz1.qq.com"]],
    ["netease", ["163mx01.mxmail.netease.com"]],
    ["fastmail", ["in1-smtp.messagingengine.com"]],
    ["rackspace", ["mx1.emailsrvr.com"]],
  ];
  for (const [provider, hosts] of cases)
    it(`${hosts[0]} is ${provider}`, () =>
      assert.deepEqual(siteOf(hosts, "example.com"), { site: provider, provider }));

  it("a million domains of one provider are one site", () => {
    const sites = new Set(
      ["a.com", "b.org"].map((domain) => siteOf([`${domain}.mail.protection.outlook.com`], domain).site),
    );
    assert.equal(sites.size, 1);
  });

  it("a name that only ends alike is somebody else's", () => {
    assert.equal(siteOf(["mx.notgoogle.com"], "example.com").provider, null);
    assert.equal(siteOf(["google.com.example.org"], "example.org").provider, null);
  });

  it("the most preferred host decides", () => {
    assert.equal(siteOf(["mx.example.net", "aspmx.l.google.com"], "example.com").provider, null);
    assert.equal(siteOf(["aspmx.l.google.com", "mx.example.net"], "example.com").provider, "google");
  });

  it("no suffix belongs to two providers", () => {
    const suffixes = Object.values(PROVIDER_MX_SUFFIXES).flat();
    assert.equal(new Set(suffixes).size, suffixes.length);
  });
});

describe("siteOf: everybody else", () => {
  const site = (hosts: string[], domain = "example.com") => siteOf(hosts, domain).site;

  it("by who runs the hosts, whatever their order", () => {
    assert.equal(site(["mx1.hoster.net", "mx2.hoster.net"]), "hoster.net");
    assert.equal(site(["mx.a.org", "mx.b.co.uk"]), site(["mx.b.co.uk", "mx2.a.org"]));
    assert.equal(site([]), "example.com");
  });

  it("neighbours under a public suffix are strangers", () => {
    assert.notEqual(site(["mail.alice.duckdns.org"]), site(["mail.bob.duckdns.org"]));
  });

  it("a hundred hosts make no long key", () => {
    const hosts = Array.from({ length: 100 }, (_, i) => `mx.${"x".repeat(60)}${i}.com`);
    assert.ok(site(hosts).length < 1_100);
  });
});
