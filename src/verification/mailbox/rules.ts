/**
 * How mailbox providers interpret the local part, by their own help pages. A provider is in this table only if it is known
 * to ignore case: it never gives out two names that differ only in case. `parseAddress` merges only by that; the other
 * rules serve `normalized_email` alone.
 */
export interface MailboxRules {
  /** The domain that represents all domains with the same mailboxes; null: each domain has mailboxes of its own. */
  readonly canonicalDomain: string | null;
  /** Finds what does not count: dots where `j.doe` and `jdoe` are one mailbox. */
  readonly ignored: RegExp | null;
  /** A character that counts as another: `-` as `.`. */
  readonly same: readonly [typed: string, meant: string] | null;
  /** Separator of a tag behind the mailbox's name. */
  readonly tag: "+" | "-" | null;
  /** `tag@name.domain` is `name@domain`, too. */
  readonly subdomains: boolean;
}

/** Nothing but case is ignored. */
const PLAIN: MailboxRules = {
  canonicalDomain: null,
  ignored: null,
  same: null,
  tag: null,
  subdomains: false,
};
export const PLUS: MailboxRules = { ...PLAIN, tag: "+" };

const below = (name: string, endings: string) => endings.split(" ").map((ending) => `${name}.${ending}`);

/** With the page that says so, or the name of it. */
const TABLE: readonly (readonly [rules: MailboxRules, domains: readonly string[]])[] = [
  // support.google.com/mail/answer/7436150 (dots), 22370 (plus), 10313 (googlemail.com).
  [{ ...PLUS, canonicalDomain: "gmail.com", ignored: /\./g }, ["gmail.com", "googlemail.com"]],
  // support.microsoft.com, "Add or remove an email alias in Outlook.com": a dot counts.
  [
    PLUS,
    [
      ...below(
        "outlook",
        "com at be cl co.id co.il co.th com.ar com.au com.br com.gr com.tr com.vn cz de dk es",
      ),
      ...below("outlook", "fr hu ie in it jp kr lv my ph pt sa sg sk"),
      ...below(
        "hotmail",
        "com at be ca ch cl co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za com.ar com.au",
      ),
      ...below(
        "hotmail",
        "com.br com.hk com.tr com.vn cz de dk es fi fr gr hu it my nl no ph pt rs se sg sk",
      ),
      ...below(
        "live",
        "com at be ca cl cn co.kr co.uk co.za com.ar com.au com.mx com.my com.ph com.pt com.sg de",
      ),
      ...below("live", "dk fi fr hk ie in it jp nl no ru se"),
      ...["msn.com", "passport.com", "windowslive.com"],
    ],
  ],
  // help.yahoo.com, "Create and manage disposable addresses": `base-keyword`; no other name holds a hyphen.
  [
    { ...PLAIN, tag: "-" },
    [
      ...below(
        "yahoo",
        "com at be ca cl co.id co.in co.kr co.nz co.th co.uk co.za com.ar com.au com.br com.co",
      ),
      ...below(
        "yahoo",
        "com.hk com.mx com.my com.pe com.ph com.sg com.tr com.tw com.ve com.vn cz de dk es fi fr",
      ),
      ...below("yahoo", "gr hu ie in it nl no pl pt ro se"),
      ...["ymail.com", "rocketmail.com", "myyahoo.com"],
    ],
  ],
  // support.apple.com, "If you have an @icloud.com, @me.com or @mac.com address": one account has them.
  [{ ...PLUS, canonicalDomain: "icloud.com" }, ["icloud.com", "me.com", "mac.com"]],
  // proton.me/support, "Addresses and aliases": all of its domains; dots, hyphens and underscores do not count.
  [
    { ...PLUS, canonicalDomain: "proton.me", ignored: /[._-]/g },
    ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
  ],
  // fastmail.help, "Plus addressing and subdomain addressing".
  [
    { ...PLUS, subdomains: true },
    [
      ...below("fastmail", "com fm cn co.uk com.au de es in jp mx net nl org se to tw uk us im"),
      ...["sent.com", "eml.cc", "fea.st", "ml1.net", "mm.st", "123mail.org", "airpost.net", "f-m.fm"],
      ...["fmail.co.uk", "fastmailbox.net", "mailbolt.com", "mailcan.com", "myfastmail.com", "speedpost.net"],
      ...["warpmail.net", "xsmail.com"],
    ],
  ],
  // yandex.com/support, "Email aliases": a name has all of the domains; `-` and `.` are one character in it.
  [
    { ...PLUS, canonicalDomain: "yandex.ru", same: ["-", "."] },
    [...below("yandex", "ru com by kz ua com.tr"), "ya.ru"],
  ],
  // zoho.com/mail/help, "Plus addressing".
  [PLUS, [...below("zohomail", "com eu in com.au jp sa"), ...below("zoho", "com eu in")]],
  // Their help, each under "plus addressing" or "sub-addressing".
  [
    PLUS,
    [
      ...["mailbox.org", "posteo.de", "posteo.net", "posteo.at", "hey.com", "runbox.com", "mailfence.com"],
      "pobox.com",
    ],
  ],
  // Case only: no other rule is documented, or tags are documented as not supported (GMX, Tuta).
  [
    PLAIN,
    [
      ...below("gmx", "com net de at ch fr es co.uk us li org tm"),
      ...["web.de", "mail.com", "aol.com", "aol.de", "aim.com", "verizon.net", "yahoo.co.jp"],
      ...["mail.ru", "inbox.ru", "list.ru", "bk.ru", "internet.ru", "rambler.ru", "ukr.net", "abv.bg"],
      ...["qq.com", "foxmail.com", "163.com", "126.com", "yeah.net", "sina.com", "sohu.com", "139.com"],
      ...["naver.com", "daum.net", "hanmail.net", "kakao.com", "nate.com", "rediffmail.com"],
      ...["t-online.de", "freenet.de", "arcor.de", "bluewin.ch", "orange.fr", "wanadoo.fr", "free.fr"],
      ...["laposte.net", "sfr.fr", "neuf.fr", "libero.it", "virgilio.it", "tiscali.it", "alice.it", "tim.it"],
      ...["seznam.cz", "wp.pl", "o2.pl", "onet.pl", "interia.pl", "btinternet.com", "sky.com"],
      ...["virginmedia.com", "comcast.net", "att.net", "sbcglobal.net", "bellsouth.net", "cox.net"],
      ...["charter.net", "earthlink.net", "uol.com.br", "bol.com.br", "terra.com.br"],
      ...["tuta.com", "tuta.io", "tutanota.com", "tutanota.de", "tutamail.com", "keemail.me"],
    ],
  ],
];

const BY_DOMAIN: ReadonlyMap<string, MailboxRules> = new Map(
  TABLE.flatMap(([rules, domains]) => domains.map((domain) => [domain, rules] as const)),
);

/**
 * Rules for customers' own domains behind a provider's exchangers, by its name in PROVIDER_MX_SUFFIXES. Google: names are lower case and
 * hold no `+`, and a dot counts (support.google.com/a/answer/9193374). Exchange Online takes tags unless the organisation
 * turned that off. An exchanger that only filters says nothing of the mailboxes behind it.
 */
const BY_PROVIDER: ReadonlyMap<string, MailboxRules> = new Map(
  ["google", "microsoft365", "apple", "proton", "fastmail", "zoho"].map((name) => [name, PLUS] as const),
);

/** The rules of mailboxes at the domain (A-labels, lower case); null: nothing is known of them. */
export function mailboxRulesOf(domain: string): MailboxRules | null {
  const known = BY_DOMAIN.get(domain);
  if (known !== undefined) return known;
  const base = subdomainBase(domain);
  return base === null ? null : { ...PLAIN, canonicalDomain: base };
}

/** The provider's domain that `name.domain` is below of, where `tag@name.domain` is `name@domain`; else null. */
export function subdomainBase(domain: string): string | null {
  const base = domain.slice(domain.indexOf(".") + 1);
  return BY_DOMAIN.get(base)?.subdomains ? base : null;
}

/** @param provider of the domain's exchangers; null: not known */
export function hostedRulesOf(provider: string | null): MailboxRules | null {
  return provider === null ? null : (BY_PROVIDER.get(provider) ?? null);
}
