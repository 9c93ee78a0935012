import { ALIAS_DOMAINS } from "./alias-services.ts";
import { MAIL_COM_DOMAINS } from "./mail-com.ts";

/**
 * Domains that must never be called disposable, whatever a list says: mailbox providers with real users, and privacy
 * relays, which forward to one person's real mailbox for as long as that person wants. Checked against the lists by hand;
 * the remarks name errors of lists at that time.
 */
export const MAILBOX_PROVIDERS: readonly string[] = [
  ...["gmail.com", "googlemail.com", "google.com"],
  ...["outlook.com", "hotmail.com", "live.com", "msn.com", "outlook.fr", "outlook.de", "hotmail.co.uk"],
  ...["hotmail.fr", "hotmail.it", "hotmail.es", "hotmail.de", "live.fr", "live.nl", "live.co.uk"],
  ...["yahoo.com", "ymail.com", "rocketmail.com", "yahoo.co.uk", "yahoo.fr", "yahoo.de", "yahoo.co.jp"],
  ...["yahoo.com.br", "yahoo.co.in", "yahoo.it", "yahoo.es", "aol.com", "verizon.net", "att.net"],
  ...["icloud.com", "me.com", "mac.com"],
  ...["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
  ...["gmx.com", "gmx.net", "gmx.de", "gmx.at", "gmx.ch", "web.de", "mail.com", "email.com", "usa.com"],
  ...["zoho.com", "zohomail.com", "zoho.eu", "fastmail.com", "fastmail.fm"],
  ...["tuta.com", "tuta.io", "tutanota.com", "tutanota.de", "tutamail.com", "keemail.me"],
  ...["hushmail.com", "hush.com", "mailfence.com", "posteo.de", "posteo.net", "mailbox.org", "startmail.com"],
  ...["runbox.com", "disroot.org", "riseup.net", "sdf.org", "hey.com", "lycos.com", "inbox.com", "inbox.lv"],
  ...["yandex.com", "yandex.ru", "ya.ru", "mail.ru", "bk.ru", "list.ru", "inbox.ru", "rambler.ru", "ukr.net"],
  ...[
    "qq.com",
    "foxmail.com",
    "163.com",
    "126.com",
    "yeah.net",
    "sina.com",
    "sina.cn",
    "sohu.com",
    "tom.com",
  ],
  ...["21cn.com", "aliyun.com", "139.com", "189.cn", "naver.com", "daum.net", "hanmail.net", "nate.com"],
  ...["orange.fr", "wanadoo.fr", "free.fr", "laposte.net", "sfr.fr", "neuf.fr", "bbox.fr", "numericable.fr"],
  ...["libero.it", "virgilio.it", "tiscali.it", "alice.it", "tim.it", "iol.it"],
  ...[
    "t-online.de",
    "freenet.de",
    "arcor.de",
    "bluewin.ch",
    "telenet.be",
    "skynet.be",
    "ziggo.nl",
    "kpnmail.nl",
  ],
  ...["seznam.cz", "centrum.cz", "wp.pl", "o2.pl", "onet.pl", "interia.pl", "abv.bg", "mail.ee"],
  ...["btinternet.com", "sky.com", "virginmedia.com", "talktalk.net", "eircom.net"],
  ...["comcast.net", "sbcglobal.net", "bellsouth.net", "cox.net", "charter.net", "earthlink.net", "juno.com"],
  ...["shaw.ca", "rogers.com", "sympatico.ca", "telus.net", "bigpond.com", "optusnet.com.au", "xtra.co.nz"],
  ...["uol.com.br", "bol.com.br", "terra.com.br", "ig.com.br", "rediffmail.com", "sify.com"],
  ...["tuta.de", "mail.de", "posteo.at", "vivaldi.net", "kolabnow.com", "gmx.es", "aol.de", "hotmail.ch"],
  ...["hotmail.se", "zohomail.in", "yandex.by", "vip.163.com", "outlook.at", "outlook.pt", "live.se"],
  // Smaller ones with lasting mailboxes, on mailchecker's list, and on another's where that copied it (`mail.by`).
  ...[
    "mail.by",
    "sibmail.com",
    "mail15.com",
    "mihanmail.ir",
    "latinmail.com",
    "mail2world.com",
    "hongkong.com",
  ],
  ...["safe-mail.net", "msgsafe.io", "lavabit.com", "hush.ai", "vfemail.net", "vmail.me"],
  ...["bluebottle.com", "nameplanet.com", ...MAIL_COM_DOMAINS],
];

/** Names of the free-mail list without free mailboxes: examples, and companies that once offered some, or never. */
export const NOT_FREE: ReadonlySet<string> = new Set([
  ...["example.com", "yourdomain.com", "mydomain.com", "test.com", "test.de"],
  ...[
    "alibaba.com",
    "facebook.com",
    "about.com",
    "discovery.com",
    "medscape.com",
    "space.com",
    "ancestry.com",
  ],
  ...[
    "techspot.com",
    "oath.com",
    "name.com",
    "dnsmadeeasy.com",
    "mail-tester.com",
    "unican.es",
    "nus.edu.sg",
  ],
]);

/** Services that forward the mail of their customers' own domains. */
const FORWARDERS: readonly string[] = ["forwardemail.net", "improvmx.com"];

/** Universities, schools' mail, companies and forwarding hosts that mailchecker alone lists. */
const INSTITUTIONS: readonly string[] = [
  ...["nus.edu.sg", "test.com", "test.de", "gaggle.net", "aver.com", "ukmail.com"],
];

export const NEVER_DISPOSABLE: ReadonlySet<string> = new Set([
  ...MAILBOX_PROVIDERS,
  ...ALIAS_DOMAINS,
  ...FORWARDERS,
  ...INSTITUTIONS,
]);

/**
 * Words of the role list that are also a person's name, or not a role. A role makes an accepted address `risky`, so the
 * list must contain only shared mailboxes.
 */
export const NOT_A_ROLE: ReadonlySet<string> = new Set([
  ...[
    "alexa",
    "paris",
    "sydney",
    "india",
    "berlin",
    "chicago",
    "denver",
    "boston",
    "gardner",
    "mayor",
    "angels",
  ],
  ...["123", "2015", "2016", "2017", "2018", "2019", "2020", "2021", "2022", "2023", "2024", "2025", "2026"],
  ...[
    "2027",
    "2028",
    "2029",
    "2030",
    "aaa",
    "abc",
    "asd",
    "asdf",
    "asdasd",
    "ooo",
    "apple",
    "android",
    "iphone",
  ],
  ...[
    "la",
    "lt",
    "ny",
    "sf",
    "sa",
    "ta",
    "mt",
    "md",
    "pd",
    "cm",
    "cs",
    "ap",
    "bd",
    "gm",
    "sc",
    "alpha",
    "beta",
  ],
  ...[
    "alla",
    "alle",
    "captain",
    "captains",
    "pastor",
    "master",
    "chef",
    "geeks",
    "rockstars",
    "smile",
    "tribe",
  ],
  ...["travel", "music", "home", "family", "friends", "football", "italia", "france", "europe", "china"],
  // Given names and surnames: Arin, Ask, Dev, Mentor, Reg, Sem; Brand, Contador, Crew, Head, House, Merchant, Seo.
  ...["arin", "ask", "dev", "mentor", "reg", "sem"],
  ...["brand", "contador", "crew", "head", "house", "merchant", "seo"],
  // Initials of people, and words that name no office.
  ...["ir", "pm", "se", "us", "uk", "com", "eng", "csm", "fbl", "fte", "principa", "random", "fun", "lunch"],
  ...[
    "women",
    "church",
    "stay",
    "stats",
    "smile",
    "plex",
    "myplex",
    "plex.tv",
    "caltrain",
    "lifesum",
    "launch",
  ],
]);
