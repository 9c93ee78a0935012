/**
 * Mailbox providers that people mistype, by name, each with its endings, the most used first. Of a name that was coined
 * and is long enough a slip is believed, and an ending that exists but is next to its own (`gmail.co`); one that is a
 * word or a surname has honest neighbours, so that only an ending that does not exist is put right.
 */
export const COINED: Readonly<Record<string, readonly string[]>> = {
  gmail: ["com"],
  yahoo: [
    ...["com", "co.uk", "fr", "de", "it", "es", "ca", "co.in", "co.jp", "com.br", "com.mx", "com.ar"],
    ...["com.au", "co.id", "gr", "ie", "in"],
  ],
  hotmail: ["com", "co.uk", "fr", "it", "es", "de", "nl", "ca", "be", "ch", "se", "com.br", "com.ar"],
  outlook: ["com", "fr", "de", "es", "it", "pt", "com.br", "com.au"],
  icloud: ["com"],
  aol: ["com"],
  msn: ["com"],
  googlemail: ["com"],
  protonmail: ["com", "ch"],
  rocketmail: ["com"],
  tutanota: ["com", "de"],
  comcast: ["net"],
  verizon: ["net"],
  sbcglobal: ["net"],
  bellsouth: ["net"],
  earthlink: ["net"],
  windstream: ["net"],
  optonline: ["net"],
  btinternet: ["com"],
  virginmedia: ["com"],
  talktalk: ["net"],
  ntlworld: ["com"],
  blueyonder: ["co.uk"],
  wanadoo: ["fr"],
  laposte: ["net"],
  numericable: ["fr"],
  "t-online": ["de"],
  freenet: ["de"],
  bluewin: ["ch"],
  libero: ["it"],
  tiscali: ["it"],
  telenet: ["be"],
  sympatico: ["ca"],
  videotron: ["ca"],
  bigpond: ["com", "net.au"],
  optusnet: ["com.au"],
  rediffmail: ["com"],
  yandex: ["ru", "com"],
  seznam: ["cz"],
  hanmail: ["net"],
};

export const WORDS: Readonly<Record<string, readonly string[]>> = {
  live: ["com", "fr", "nl", "co.uk", "it", "de", "ca"],
  mail: ["ru", "com"],
  ymail: ["com"],
  proton: ["me"],
  gmx: ["de", "net", "at", "ch", "com", "fr"],
  web: ["de"],
  arcor: ["de"],
  orange: ["fr"],
  free: ["fr"],
  sfr: ["fr"],
  neuf: ["fr"],
  bbox: ["fr"],
  alice: ["it"],
  virgilio: ["it"],
  tin: ["it"],
  att: ["net"],
  cox: ["net"],
  charter: ["net"],
  frontier: ["com"],
  shaw: ["ca"],
  rogers: ["com"],
  telus: ["net"],
  sky: ["com"],
  xtra: ["co.nz"],
  uol: ["com.br"],
  bol: ["com.br"],
  terra: ["com.br", "es"],
  zoho: ["com"],
  bk: ["ru"],
  inbox: ["ru"],
  list: ["ru"],
  ukr: ["net"],
  qq: ["com"],
  "163": ["com"],
  "126": ["com"],
  sina: ["com"],
  daum: ["net"],
  nate: ["com"],
  docomo: ["ne.jp"],
  centrum: ["cz"],
  wp: ["pl"],
  o2: ["pl"],
  onet: ["pl"],
  abv: ["bg"],
  fastmail: ["com", "fm"],
  rambler: ["ru"],
  interia: ["pl"],
  foxmail: ["com"],
  naver: ["com"],
  skynet: ["be"],
  ziggo: ["nl"],
  planet: ["nl"],
  kpnmail: ["nl"],
};

/** Slips that people often make and that are further off than any rule should reach. */
export const KNOWN_SLIPS: ReadonlyMap<string, string> = new Map([
  ["icould.com", "icloud.com"],
  ["ahoo.com", "yahoo.com"],
  ["tahoo.com", "yahoo.com"],
  ["uahoo.com", "yahoo.com"],
  ["yhao.com", "yahoo.com"],
  ["yahpp.com", "yahoo.com"],
]);

/**
 * Real names a slip away from a coined one, with people behind them. `npm run suggestions` prints what the rules
 * suspect of lists of real domains; whoever is honest there comes here.
 */
export const REAL_NEIGHBOURS: ReadonlySet<string> = new Set<string>([
  ...["earthling.net", "prontomail.com", "proto2mail.com", "gotmail.com", "notmail.com", "liberto.it"],
  ...["libera.it", "libro.it", "liberi.it", "telnet.be", "gail.com", "hotmilk.com", "hotmeal.com"],
]);

/** Endings that name no place on the internet and are used inside networks, or in examples: nobody mistyped them. */
export const INTERNAL_ENDINGS: ReadonlySet<string> = new Set([
  ...["test", "example", "invalid", "localhost", "local", "onion", "alt", "internal", "localdomain"],
  ...["lan", "home", "corp", "intranet", "private", "dom", "loc", "host", "mail", "domain", "arpa"],
]);
