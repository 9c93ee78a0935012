import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseAddress } from "../../src/verification/address/address.ts";
import { suggestAddress, suggestForMalformed } from "../../src/verification/suggest/suggest.ts";
import { type Slip, slipsOf } from "./error-model.ts";

export interface Recall {
  set: string;
  slips: number;
  /** Suggested as meant. */
  right: number;
  /** Suggested, but something else. */
  wrong: Required<Slip & { suggested: string }>[];
  missed: Slip[];
}

export interface FalseAlarms {
  set: string;
  domains: number;
  /** All suspected domains, including registered slips. */
  suspected: { domain: string; suggested: string }[];
  /** Suspected domains that are clearly not mistyped forms of the suggested domain. */
  wronged: string[];
}

/** Domains that are mistyped most: of worldwide providers, and of the largest in Europe's countries and North America. */
const COMMON_TARGETS = [
  ...[
    "gmail.com",
    "gmail.com",
    "gmail.com",
    "gmail.com",
    "hotmail.com",
    "hotmail.com",
    "yahoo.com",
    "yahoo.com",
  ],
  ...[
    "outlook.com",
    "outlook.com",
    "icloud.com",
    "icloud.com",
    "googlemail.com",
    "protonmail.com",
    "comcast.net",
  ],
  ...[
    "hotmail.co.uk",
    "yahoo.co.uk",
    "btinternet.com",
    "hotmail.fr",
    "yahoo.fr",
    "wanadoo.fr",
    "laposte.net",
  ],
  ...["t-online.de", "yahoo.de", "hotmail.de", "libero.it", "yahoo.it", "hotmail.it", "verizon.net"],
  ...["sbcglobal.net", "bellsouth.net", "earthlink.net", "rediffmail.com", "optonline.net"],
];
const GENERATED = 500;
const SEED = 1964;

const FIXTURES = new URL("../../test/fixtures/suggestions/", import.meta.url);
const load = createRequire(import.meta.url);

function linesOf(name: string): string[] {
  return readFileSync(new URL(name, FIXTURES), "utf8").trimEnd().split("\n");
}

function collected(): Slip[] {
  return linesOf("collected.tsv")
    .slice(1)
    .map((line) => line.split("\t"))
    .map(([typed = "", meant = ""]) => ({ typed, meant }));
}

/** The domain that `did_you_mean` suggests for a mailbox at `domain`; null: none. */
function suggestedFor(domain: string): string | null {
  const text = `jane@${domain}`;
  const parsed = parseAddress(text);
  const suggestion = parsed.ok ? suggestAddress(parsed.address) : suggestForMalformed(text);
  return suggestion?.slice(suggestion.indexOf("@") + 1) ?? null;
}

function recallOf(set: string, slips: Slip[]): Recall {
  const answers = slips.map((slip) => ({ ...slip, suggested: suggestedFor(slip.typed) }));
  return {
    set,
    slips: slips.length,
    right: answers.filter(({ meant, suggested }) => suggested === meant).length,
    wrong: answers.flatMap(({ suggested, ...slip }) =>
      suggested === null || suggested === slip.meant ? [] : [{ ...slip, suggested }],
    ),
    missed: answers.flatMap(({ suggested, ...slip }) => (suggested === null ? [slip] : [])),
  };
}

function providers(): string[] {
  return load("email-providers/all.json") as string[];
}

/** Recall on slips that others collected, and on slips of the error model. */
export function measureRecall(): Recall[] {
  const real = new Set(providers());
  const known = new Set(linesOf("registered-slips.txt"));
  const isReal = (domain: string) => real.has(domain) && !known.has(domain);
  return [
    recallOf("collected by hand and from public correction tables", collected()),
    recallOf(`error model, seed ${SEED}`, slipsOf(COMMON_TARGETS, GENERATED, SEED, isReal)),
  ];
}

function alarmsOf(set: string, domains: string[]): FalseAlarms {
  const slips = new Set(linesOf("registered-slips.txt"));
  const suspected = domains.flatMap((domain) => {
    const suggested = suggestedFor(domain);
    return suggested === null ? [] : [{ domain, suggested }];
  });
  const wronged = suspected.map(({ domain }) => domain).filter((domain) => !slips.has(domain));
  return { set, domains: domains.length, suspected, wronged };
}

/** Suspicion of domains that exist: those the rules were tuned by, and those they never saw. */
export function measureFalseAlarms(): FalseAlarms[] {
  return [
    alarmsOf("mail domains of email-providers", providers()),
    alarmsOf("schools and universities (held back)", linesOf("schools.txt")),
  ];
}
