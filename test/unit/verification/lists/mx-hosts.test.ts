import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileLists, openLists } from "../../../../src/verification/lists/lists.ts";
import { exchangerOwnersOf, findDisposable } from "../../../../src/verification/lists/mx-hosts.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../../src/verification/lists/providers.ts";

const areParked = (hosts: string[]) => exchangerOwnersOf(hosts).parked;
const throwAwayExchangers = (hosts: string[]) => exchangerOwnersOf(hosts).throwAway;
const lists = openLists(compileLists());

/** Hosts that domains of all kinds share; throw-away services too, which proves nothing. */
const SHARED = [
  ...["route1.mx.cloudflare.net", "aspmx.l.google.com", "smtp.google.com", "mx1.forwardemail.net"],
  ...["eforward1.registrar-servers.com", "mx1-hosting.jellyfish.systems", "us2.mx1.mailhostbox.com"],
  ...["mx1.ovh.net", "mx.zoho.com", "mx1.improvmx.com", "mx1.simplelogin.co", "mail.anonaddy.me"],
  ...["publicms1.mail2world.com", "mx1.timeweb.ru", "mailstore1.secureserver.net", "mx.yandex.net"],
  ...["mx.example.com", "mail.chatgpt.org.uk", "mx.mail.tm.example.com"],
];

describe("mail exchangers of throw-away services", () => {
  it("make a domain disposable that is on no list, where all of them are theirs", () => {
    const hosts = ["mail.wabblywabble.com", "mail.wallywatts.com"];
    assert.deepEqual(findDisposable(lists, "brand-new.example", hosts), {
      listed: true,
      source: "shared-mx",
    });
    assert.equal(findDisposable(lists, "brand-new.example", ["in.mail.tm"]).listed, true);
    assert.equal(findDisposable(lists, "brand-new.example", ["generator.email"]).listed, true);
    assert.equal(findDisposable(lists, "mailinator.com", ["mail.mailinator.com"]).source, "fakefilter");
  });

  it("do not where one is another's, where there is none, or where the domain is trusted", () => {
    const mixed = ["mail.wabblywabble.com", "mx.example.com"];
    assert.equal(throwAwayExchangers(mixed), "some");
    assert.equal(findDisposable(lists, "company.example", mixed).listed, false);
    assert.equal(findDisposable(lists, "company.example", []).listed, false);
    assert.equal(findDisposable(lists, "duck.com", ["in.mail.tm"]).listed, false);
    assert.equal(findDisposable(lists, "mail.proton.me", ["in.mail.tm"]).listed, false);
  });

  it("are not matched where they belong to a provider whose servers others use", () => {
    const providers = Object.values(PROVIDER_MX_SUFFIXES)
      .flat()
      .map((name) => name.replaceAll("*", "1"));
    for (const host of [...SHARED, ...providers]) {
      assert.equal(throwAwayExchangers([host]), "none", host);
      assert.equal(areParked([host]), false, host);
    }
  });
});

describe("parked domains", () => {
  it("send mail to a parking service, or nowhere", () => {
    for (const host of [
      "park-mx.above.com",
      "mail.h-email.net",
      "mx76.m2bp.com",
      "localhost",
      "127.0.0.1",
      "0.0.0.0",
    ])
      assert.equal(areParked([host]), true, host);
    assert.equal(areParked(["mail.h-email.net", "localhost"]), true);
  });

  it("are not recognised where any exchanger may take mail", () => {
    assert.equal(areParked([]), false);
    assert.equal(areParked(["park-mx.above.com", "mx.example.com"]), false);
    assert.equal(areParked(["above.com"]), false);
    assert.equal(areParked(["localhost.example.com"]), false);
  });
});
