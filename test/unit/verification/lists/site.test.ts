import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROVIDER_MX_SUFFIXES } from "../../../../src/verification/lists/providers.ts";
import { probedProviderOf, probedSiteOf, siteOf } from "../../../../src/verification/lists/site.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";

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
    ["google", ["alt4.gmail-smtp-in.l.google.com"]],
    ["yahoo", ["mx-aol.mail.gm0.yahoodns.net"]],
    ["yahoo", ["mta7.am0.yahoodns.net"]],
    ["yahoo_jp", ["mx5.mail.yahoo.co.jp"]],
    ["apple", ["mx-in-vib.apple.com"]],
    ["amazon", ["inbound-smtp.us-east-1.amazonaws.com"]],
    ["amazon", ["inbound-smtp.eu-west-1.amazonaws.com"]],
    ["cloudflare", ["route1.mx.cloudflare.net"]],
    ["godaddy", ["mailstore1.secureserver.net"]],
    ["godaddy", ["smtp.europe.secureserver.net"]],
    ["namecheap", ["mx1.privateemail.com"]],
    ["namecheap", ["eforward3.registrar-servers.com"]],
    ["hostinger", ["mx1.hostinger.com"]],
    ["ovh", ["mx1.ovh.net"]],
    ["ovh", ["mxb.ovh.net"]],
    ["ovh", ["ex3.mail.ovh.net"]],
    ["ovh", ["redirect.ovh.net"]],
    ["ionos", ["mxint01.1and1.com"]],
    ["ionos", ["mx00.ionos.fr"]],
    ["gmx", ["mx01.mail.com"]],
    ["strato", ["smtpin.rzone.de"]],
    ["telekom", ["mx03.t-online.de"]],
    ["gandi", ["spool.mail.gandi.net"]],
    ["gandi", ["mail8.gandi.net"]],
    ["infomaniak", ["mta-gw.infomaniak.ch"]],
    ["orange", ["smtp-in2.orange.fr"]],
    ["free_fr", ["mx1.free.fr"]],
    ["laposte", ["smtpz4.laposte.net"]],
    ["sfr", ["smtp-in.sfr.fr"]],
    ["libero", ["smtp-in.libero.it"]],
    ["aruba", ["mx.aruba.it"]],
    ["comcast", ["mx1a1.comcast.net"]],
    ["comcast", ["mx2h1.comcast.net"]],
    ["charter", ["mx0.charter.net"]],
    ["charter", ["pkvw-mx.msg.pkvw.co.charter.net"]],
    ["charter", ["cdptpa-pub-iedge-vip.email.rr.com"]],
    ["cox", ["mx.east.cox.net"]],
    ["cox", ["cxr.mx.a.cloudfilter.net"]],
    ["bt", ["mx.bt.lon5.cpcloud.co.uk"]],
    ["bt", ["mx.bt.prod.cloud.openwave.ai"]],
    ["seznam", ["mx1.seznam.cz"]],
    ["seznam", ["d6e7a7cf4aef5fca.mx1.emailprofi.seznam.cz"]],
    ["wp", ["mx.wp.pl"]],
    ["onet", ["mx.poczta.onet.pl"]],
    ["mailru", ["emx.mail.ru"]],
    ["yandex", ["mx.yandex.net"]],
    ["qq", ["mx3.qq.com"]],
    ["netease", ["mx.ym.163.com"]],
    ["netease", ["qiye163mx02.mxmail.netease.com"]],
    ["alibaba", ["mxn.mxhichina.com"]],
    ["alibaba", ["mx1.qiye.aliyun.com"]],
    ["alibaba", ["mx2.mail.aliyun.com"]],
    ["naver", ["mx4.naver.com"]],
    ["daum", ["mx1.hanmail.net"]],
    ["daum", ["aspmx.daum.net"]],
    ["microsoft365", ["example-com.mail.eo.outlook.com"]],
    ["microsoft365", ["example-com.mail.protection.outlook.de"]],
    ["microsoft365", ["example-gov.mail.protection.office365.us"]],
    ["microsoft365", ["example-cn.mail.protection.partner.outlook.cn"]],
    ["outlook", ["hotmail-com.olc.protection.outlook.com"]],
    ["outlook", ["mx3.hotmail.com"]],
    ["yahoo", ["mta6.am0.yahoodns.net"]],
    ["yahoo", ["mx-eu.mail.am0.yahoodns.net"]],
    ["yahoo", ["mx-apac.mail.gm0.yahoodns.net"]],
    ["yahoo", ["mx-biz.mail.am0.yahoodns.net"]],
    ["apple", ["mx02.mail.icloud.com"]],
    ["proton", ["mailsec.protonmail.ch"]],
    ["proton", ["mx1.alias.proton.me"]],
    ["zoho", ["mx3.zoho.eu"]],
    ["zoho", ["mx.zoho.in"]],
    ["zoho", ["mx2.zoho.jp"]],
    ["zoho", ["mx2.zohocloud.ca"]],
    ["zoho", ["mx.zoho.sa"]],
    ["zoho", ["mx.zoho.com.cn"]],
    ["zoho", ["mx.zoho.com.au"]],
    ["mimecast", ["us-smtp-inbound-2.mimecast.com"]],
    ["mimecast", ["za-smtp-inbound-1.mimecast.co.za"]],
    ["proofpoint", ["mx1-us1.ppe-hosted.com"]],
    ["proofpoint", ["mxb-00000000.gslb.gpphosted.com"]],
    ["barracuda", ["d2.ess.barracudanetworks.com"]],
    ["ionos", ["mx01.ionos.com"]],
    ["ionos", ["mx00.ionos.co.uk"]],
    ["ionos", ["mx01.kundenserver.de"]],
    ["ionos", ["mx00.perfora.net"]],
    ["ovh", ["mx3.mail.ovh.net"]],
    ["ovh", ["mx0.mail.ovh.net"]],
    ["gmx", ["mx01.emig.gmx.net"]],
    ["gmx", ["mx-ha03.web.de"]],
    ["qq", ["mxbiz2.qq.com"]],
    ["netease", ["126mx02.mxmail.netease.com"]],
    ["netease", ["hzmx01.mxmail.netease.com"]],
    ["netease", ["yeahmx00.mxmail.netease.com"]],
    ["netease", ["vip163mx01.mxmail.netease.com"]],
    ["sina", ["freemx1.sinamail.sina.com.cn"]],
    ["att", ["al-ip4-mx-vip1.prodigy.net"]],
    ["att", ["ff-ip4-mx-vip2.prodigy.net"]],
    ["cloudflare", ["route3.mx.cloudflare.net"]],
    ["namecheap", ["mx2.privateemail.com"]],
    ["rackspace", ["mx2.emailsrvr.com"]],
    ["fastmail", ["in2-smtp.messagingengine.com"]],
  ];
  for (const [provider, hosts] of cases)
    it(`${hosts[0]} is ${provider}`, () =>
      assert.deepEqual(siteOf(hosts, "example.com"), { site: provider, provider }));

  it("over a hundred names of real exchangers are known", () =>
    assert.ok(new Set(cases.flatMap(([, hosts]) => hosts)).size >= 100));

  it("every provider of the list has a real exchanger in this one, or a domain that holds nothing else", () => {
    const shown = new Set(cases.map(([provider]) => provider));
    for (const [provider, names] of Object.entries(PROVIDER_MX_SUFFIXES))
      assert.ok(shown.has(provider) || names.every((name) => !name.includes("*")), provider);
  });

  it("a million domains of one provider are one site", () => {
    const sites = new Set(
      ["a.com", "b.org"].map((domain) => siteOf([`${domain}.mail.protection.outlook.com`], domain).site),
    );
    assert.equal(sites.size, 1);
  });

  it("a name that only ends alike is another's", () => {
    assert.equal(siteOf(["mx.notgoogle.com"], "example.com").provider, null);
    assert.equal(siteOf(["google.com.example.org"], "example.org").provider, null);
  });

  const customers = [
    "vps-1a2b3c.vps.ovh.net",
    "ns3012345.ovh.net",
    "cluster010.ovh.net",
    "ip-192-0-2-1.ip.secureserver.net",
    "s192-0-2-1.secureserver.net",
    "n3plcpnl0001.prod.ams3.secureserver.net",
    "1.2.0.192.host.secureserver.net",
    "ec2-192-0-2-1.compute-1.amazonaws.com",
    "ec2-192-0-2-1.eu-west-1.compute.amazonaws.com",
    "mail-1234567890.us-east-1.elb.amazonaws.com",
    "c-192-0-2-1.hsd1.ma.comcast.net",
    "192-0-2-1-static.hfc.comcastbusiness.net",
    "cpe-192-0-2-1.nyc.res.rr.com",
    "rrcs-192-0-2-1.nyc.biz.rr.com",
    "192-0-2-1.dhcp.stls.mo.charter.net",
    "ip192-0-2-1.ph.ph.cox.net",
    "wsip-192-0-2-1.om.om.cox.net",
    "host192-0-2-1.range86.btcentralplus.com",
    "lns-bzn-1.w192-0.abo.wanadoo.fr",
    "alice.hd.free.fr",
    "host1-2-0-192.serverdedicati.aruba.it",
    "infong123.kundenserver.de",
    "s12345678.onlinehome-server.com",
    "srv1.mcs.mail.ru",
    "xvm-2-1.gandi.net",
    "od-12345.infomaniak.ch",
    "p4pweb.geo.bf1.yahoodns.net",
    "mx1.alice.vps.ovh.net",
    "adsl-192-0-2-1.dsl.prodigy.net",
    "mail114-240.sinamail.sina.com.cn",
    "inbound-smtp.alice.example.amazonaws.com",
  ];
  for (const host of customers)
    it(`${host} is a customer's, and no other site's neighbour`, () => {
      const { site, provider } = siteOf([host], "example.com");
      assert.equal(provider, null);
      const labels = host.split(".");
      const next = [`x${labels[0]}`, ...labels.slice(1)].join(".");
      if (!/btcentralplus|comcastbusiness|onlinehome/.test(host))
        assert.notEqual(siteOf([next], "example.org").site, site);
    });

  it("a hundred and twenty labels are looked at no longer than the list is deep", () => {
    const host = `${"mx1.".repeat(120)}ovh.net`.slice(-253);
    assert.equal(siteOf([host], "example.com").provider, "ovh");
    assert.equal(siteOf([`${"a.".repeat(120)}example.net`], "example.com").provider, null);
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

  it("by the operator of the most preferred host", () => {
    assert.equal(site(["mx1.hoster.net", "mx2.hoster.net"]), "hoster.net");
    assert.deepEqual(
      [site(["mx.a.org", "mx.b.co.uk"]), site(["mx.b.co.uk", "mx2.a.org"])],
      ["a.org", "b.co.uk"],
    );
    assert.equal(site([]), "example.com");
  });

  it("neighbours under a public suffix are strangers", () => {
    assert.notEqual(site(["mail.alice.duckdns.org"]), site(["mail.bob.duckdns.org"]));
  });

  it("a hundred hosts make no long key", () => {
    const hosts = Array.from({ length: 100 }, (_, i) => `mx.${"x".repeat(60)}${i}.com`);
    assert.ok(site(hosts).length <= 253);
  });
});

describe("whose evidence it is", () => {
  const evidence = (mxHost: string) => {
    const hosts = ["aspmx.l.google.com", "mx.own.example", "mx1.mail.ovh.net"];
    const asked = evidenceWith({
      mx: { ...evidenceWith().mx, hosts, preferences: [], provider: "google" },
      smtp: smtpWith({ mxHost }),
    });
    return [probedSiteOf({ siteOf }, asked, "own.example"), probedProviderOf(asked)];
  };

  it("is that of the host that was asked, or of the first where none was", () => {
    assert.deepEqual(evidence(""), ["google", "google"]);
    assert.deepEqual(evidence("aspmx.l.google.com"), ["google", "google"]);
    assert.deepEqual(evidence("mx.own.example"), ["own.example", null]);
    assert.deepEqual(evidence("mx1.mail.ovh.net"), ["ovh", "ovh"]);
  });
});
