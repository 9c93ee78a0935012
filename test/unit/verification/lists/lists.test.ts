import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { getDomain } from "tldts";
import { buildTable, openTable } from "../../../../src/verification/lists/hash-table.ts";
import { compileLists, openLists } from "../../../../src/verification/lists/lists.ts";
import { MAIL_COM_DOMAINS } from "../../../../src/verification/lists/mail-com.ts";
import { SELF_NAMED_DISPOSABLES } from "../../../../src/verification/lists/self-named-disposables.ts";
import { MAILBOX_PROVIDERS, NEVER_DISPOSABLE } from "../../../../src/verification/lists/trusted.ts";
import { nameSignals } from "../../../../src/verification/verdict/reputation.ts";
import fc from "../../../support/properties.ts";

const compiled = compileLists();
const lists = openLists(compiled);
const load = createRequire(import.meta.url);

describe("disposable domains", () => {
  it("names the list that has a domain", () => {
    assert.deepEqual(lists.disposable("mailinator.com"), { listed: true, source: "fakefilter" });
    assert.deepEqual(lists.disposable("example.com"), { listed: false, source: "none" });
    const sources = new Set(
      ["temp-mail.org", "yopmail.com", "bugmenot.com"].map((d) => lists.disposable(d).source),
    );
    assert.ok(!sources.has("none"));
  });

  it("reaches down to subdomains, up to the registrable domain and no further", () => {
    assert.equal(lists.disposable("a.b.mailinator.com").listed, true);
    assert.equal(lists.disposable("my-mailinator.example.com").listed, false);
    assert.equal(lists.disposable("mailinator.com.example.org").listed, false);
  });

  it("a listed public suffix says nothing of those below it, nor of itself", () => {
    const listed = new Set<string>(load("mailchecker").blacklist());
    for (const suffix of ["dynu.net", "ddns.net", "pp.ua", "za.com"]) {
      assert.ok(listed.has(suffix), `${suffix} left the list: choose another example`);
      assert.equal(lists.disposable(suffix).listed, false);
      assert.equal(lists.disposable(`home.${suffix}`).listed, false);
    }
  });

  it("never mailbox providers and privacy relays, nor what is below them", () => {
    const wronged = [...load("mailchecker").blacklist()].filter((domain) => NEVER_DISPOSABLE.has(domain));
    assert.ok(wronged.length > 10, "the guard guards against nothing");
    for (const domain of NEVER_DISPOSABLE) {
      assert.equal(lists.disposable(domain).listed, false, domain);
      assert.equal(lists.disposable(`mail.${domain}`).listed, false, domain);
    }
    for (const giant of [
      "gmail.com",
      "outlook.com",
      "yahoo.com",
      "icloud.com",
      "proton.me",
      "duck.com",
      "qq.com",
    ])
      assert.ok(NEVER_DISPOSABLE.has(giant), giant);
  });

  it("what one list alone calls so, and what is known as a mailbox provider, was decided one by one", () => {
    const sources = [
      new Set(Object.keys(load("fakefilter/json/data.json").domains)),
      new Set<string>(load("disposable-email-domains-js/dist/dict/disposable_email_blocklist.json")),
      load("mailchecker").blacklist() as Set<string>,
    ];
    const providers = new Set<string>(load("email-providers/all.json"));
    const doubtful = [...providers].filter(
      (domain) => sources.filter((list) => list.has(domain)).length === 1,
    );
    const table = new URL("../../../fixtures/lists/one-list.tsv", import.meta.url);
    const rows = readFileSync(table, "utf8").trimEnd().split("\n").slice(1);
    const decided = new Map(rows.map((row) => row.split("\t") as [string, string]));
    assert.equal(decided.size, rows.length, "decided twice");
    assert.deepEqual(
      doubtful.filter((domain) => !decided.has(domain)),
      [],
      "an update of a list brought these: decide, and write it into one-list.tsv",
    );
    for (const [domain, decision] of decided) {
      assert.match(decision, /^(trusted|throw-away)$/);
      assert.equal(NEVER_DISPOSABLE.has(domain), decision === "trusted", domain);
    }
    assert.ok([...decided.values()].filter((decision) => decision === "trusted").length > 40);
  });

  it("never the consumer domains of mail.com, nor small providers and relays that a list has wrong", () => {
    const listed = new Set<string>(load("mailchecker").blacklist());
    assert.ok(MAIL_COM_DOMAINS.filter((domain) => listed.has(domain)).length > 20);
    const mailCom = "consultant.com dr.com myself.com techie.com writeme.com contractor.net photographer.net";
    const others = "mail.by sibmail.com safe-mail.net msgsafe.io lavabit.com";
    for (const domain of `${mailCom} ${others}`.split(" ")) {
      assert.equal(lists.disposable(domain).listed, false, domain);
      assert.equal(lists.isFree(domain), true, domain);
    }
    for (const relay of ["33mail.com", "jane.33mail.com", "erine.email", "opayq.com"])
      assert.equal(lists.disposable(relay).listed, false, relay);
  });

  it("nor the aliases of privacy services, whoever lists them; they carry a signal instead", () => {
    const aliases =
      "simplelogin.com aleeas.com slmail.me slmails.com 8alias.com passmail.net passinbox.com anonaddy.com anonaddy.me addy.io " +
      "addymail.com duck.com mozmail.com privaterelay.appleid.com mycloaked.id myclkd.email nicoric.com opayq.com";
    for (const domain of aliases.split(" "))
      for (const name of [domain, `jane.${domain}`]) {
        assert.equal(lists.disposable(name).listed, false, name);
        assert.deepEqual(nameSignals({ local: "x", domain: name }), ["alias_service"], name);
      }
    // Indistinguishable from the mailboxes beside them.
    for (const domain of ["icloud.com", "fastmail.com", "pm.me", "proton.me", "startmail.com", "mailbox.org"])
      assert.equal(lists.disposable(domain).listed, false, domain);
  });

  it("throw-away domains that say so themselves, none of which is a mailbox provider", () => {
    const providers = new Set<string>(load("email-providers/all.json"));
    for (const domain of SELF_NAMED_DISPOSABLES) {
      assert.equal(getDomain(domain, { allowPrivateDomains: true }), domain);
      assert.equal(lists.disposable(domain).listed, true, domain);
      assert.ok(!providers.has(domain) && !NEVER_DISPOSABLE.has(domain), domain);
    }
    assert.deepEqual(lists.disposable("tempmail.gg"), { listed: true, source: "rcpt" });
    assert.equal(new Set(SELF_NAMED_DISPOSABLES).size, SELF_NAMED_DISPOSABLES.length);
  });

  it("holds every name of every list that the guard lets pass", () => {
    const names: string[] = load("disposable-email-domains-js/dist/dict/disposable_email_blocklist.json");
    const label = openTable(compiled.disposable);
    const missing = names.filter((name) => !NEVER_DISPOSABLE.has(name) && label(name) === 0);
    assert.deepEqual(missing, []);
    assert.ok(names.length > 5_000);
  });
});

describe("free providers", () => {
  it("knows the large ones, and no throw-away ones", () => {
    for (const domain of MAILBOX_PROVIDERS) assert.equal(lists.isFree(domain), true, domain);
    assert.equal(lists.isFree("mailinator.com"), false);
    assert.equal(lists.isFree("example.org"), false);
  });

  it("opens no mailbox at examples and companies", () => {
    for (const domain of [
      "example.com",
      "yourdomain.com",
      "alibaba.com",
      "facebook.com",
      "microsoft.com",
      "ibm.com",
    ])
      assert.equal(lists.isFree(domain), false, domain);
    for (const domain of ["gmx.fr", "hotmail.be", "yahoo.com.mx", "vivaldi.net", "mail.de", "pm.me"])
      assert.equal(lists.isFree(domain), true, domain);
  });
});

describe("role addresses", () => {
  it("knows those of RFC 2142 and the usual ones", () => {
    for (const role of ["info", "marketing", "sales", "support", "abuse", "noc", "security", "postmaster"])
      assert.equal(lists.role(role), role);
    for (const role of [
      "hostmaster",
      "usenet",
      "news",
      "webmaster",
      "www",
      "uucp",
      "ftp",
      "noreply",
      "admin",
    ])
      assert.equal(lists.role(role), role);
  });

  it("knows what imprint pages name, in many languages", () => {
    const roles =
      "info kontakt contacto contact contato contatti vertrieb verkauf buchhaltung rechnung bewerbung datenschutz " +
      "ventas soporte facturacion rrhh vendas financeiro comptabilite accueil mairie direction amministrazione " +
      "segreteria ufficio klantenservice administratie biuro sprzedaz obchod kundservice asiakaspalvelu " +
      "firmapost iletisim jobs press billing hr office hello team";
    for (const role of roles.split(" ")) assert.equal(lists.role(role), role, role);
  });

  it("knows the no-reply names, however they are divided", () => {
    for (const local of ["noreply", "no-reply", "no_reply", "no.reply", "NoReply", "No-Reply+1"])
      assert.match(lists.role(local) ?? "", /^no[-_.]?reply$/, local);
    for (const local of ["do.not.reply", "donotreply", "do-not-reply", "mailer-daemon", "Mailer_Daemon"])
      assert.notEqual(lists.role(local), null, local);
    assert.equal(lists.role("help-desk"), "helpdesk");
    assert.equal(lists.role("Customer_Service"), "customerservice");
    assert.equal(lists.role("human.resources"), "humanresources");
  });

  it("knows the names of mailing list owners (RFC 2142 section 6)", () => {
    for (const local of ["ietf-request", "owner-ietf", "dev-bounces", "news-unsubscribe"])
      assert.equal(lists.role(local), local);
    assert.equal(lists.role("jane-requested"), null);
  });

  it("ignores case and what follows a plus", () => {
    assert.equal(lists.role("Info+shop"), "info");
    assert.equal(lists.role("+info"), null);
  });

  it("takes no personal name for a role", () => {
    const people = ["jane.doe", "alexa", "paris", "sydney", "gardner", "john", "maria", "information.jane"];
    const initials = ["pm", "ir", "i.t", "h.r", "m.d", "j.p.smith", "info.jane", "jane.info", "sales.jones"];
    // Devis in Italy, Bok in the Netherlands, Iroda in Uzbekistan, Mentor in Kosovo, Sem in Utrecht, Seo in Seoul.
    people.push(
      ..."devis bok iroda arin ask dev mentor reg sem brand contador crew head house seo".split(" "),
    );
    for (const local of [...people, ...initials]) assert.equal(lists.role(local), null, local);
  });
});

describe("the compiled lists", () => {
  it("are small, and shared with a thread rather than copied", async () => {
    const bytes = compiled.disposable.words.byteLength + compiled.disposable.labels.byteLength;
    assert.ok(bytes < 3_000_000, `${bytes} bytes`);
    const source = `const { workerData, parentPort } = require("node:worker_threads");
      const { words } = workerData.disposable;
      parentPort.postMessage(words instanceof SharedArrayBuffer && new Uint8Array(words).some((byte) => byte !== 0));`;
    const worker = new Worker(source, { eval: true, workerData: compiled });
    const arrived = await new Promise((resolve, reject) =>
      worker.once("message", resolve).once("error", reject),
    );
    await worker.terminate();
    assert.equal(arrived, true);
  });

  it("any set of strings comes out as it went in", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 200 }), fc.string(), (texts, stranger) => {
        const label = openTable(
          buildTable(
            texts.map((text, i) => [text, (i % 255) + 1] as const),
            texts.length,
          ),
        );
        for (const [i, text] of texts.entries()) assert.equal(label(text), (i % 255) + 1);
        if (!texts.includes(stranger)) assert.equal(label(stranger), 0);
      }),
      { numRuns: 300, seed: 64 },
    );
  });

  it("no two of half a million near-equal names collide", () => {
    const names = Array.from({ length: 500_000 }, (_, i) => `host${i}.example.com`);
    const label = openTable(
      buildTable(
        names.slice(0, 250_000).map((name) => [name, 1] as const),
        250_000,
      ),
    );
    assert.equal(names.filter((name) => label(name) === 1).length, 250_000);
  });
});
