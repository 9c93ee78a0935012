import { lazy } from "../../platform/lazy.ts";
import { isDoubtful } from "./doubt.ts";
import { BY_LANGUAGE, type MailboxTerms } from "./lexicon/by-language.ts";
import { OTHER_NOUNS, RECIPIENT_NOUNS, SENDER_NOUNS } from "./lexicon/nouns.ts";
import {
  ABSENT,
  ABSENT_WHOLE,
  FULL,
  INVALID,
  SHUT,
  type Side,
  type StateTerms,
  UNAVAILABLE,
} from "./lexicon/states.ts";
import { compilePhrases } from "./phrases.ts";
import { spellingsOf, spokenOf, UNSPACED } from "./spoken.ts";

/** The states of the recipient's mailbox that a sentence may state. */
export const STATEMENTS = ["absent", "invalid", "unavailable", "shut", "full"] as const;
export type Statement = (typeof STATEMENTS)[number];

/** The statements of a reply, by its grammar. */
export interface RecipientStatements {
  /** Statements about the recipient. */
  statements: ReadonlySet<Statement>;
  /** A sender is unknown or invalid: `Expéditeur inconnu`. */
  concernsSender: boolean;
  /** The reply has another subject too: a domain, a message, a certificate, not merely as a place. */
  concernsOthers: boolean;
}

type Noun = "recipient" | "sender" | "other";

interface Term {
  noun: Noun | null;
  statement: Statement | null;
  side: Side;
  reach: number;
  /** Characters back to a noun in front. */
  back: number;
  /** The term needs no noun. */
  whole: boolean;
}

/** The position of a term, without the spaces around it. */
interface Hit {
  term: Term;
  start: number;
  end: number;
}

/** `no valid local mailbox`: characters from a word for absence to the noun after it. */
const REACH_BEFORE = 28;
/** `unknown or illegal user`: the same for a word that may belong to the noun in front of it. */
const REACH_EITHER = 14;
/** `Recipient <…> in the domain … does not exist`: characters from a noun to its predicate. */
const REACH_AFTER = 80;
/** `user is unknown`: so near that no other noun can be meant. */
const REACH_NEXT = 4;

function termsOf(): Map<string, Term> {
  const found = new Map<string, Term>();
  const add = (lines: readonly string[], term: Term) => {
    for (const name of lines.flatMap((line) => line.split(",")).flatMap(spellingsOf)) {
      const stem = name.trim().endsWith("~");
      const spoken = name.trim() === "@" ? " @ " : spokenOf(name.replace("~", "").trim());
      const phrase = UNSPACED.test(spoken) ? spoken.trim() : stem ? spoken.trimEnd() : spoken;
      // The first list that has a word keeps it: nouns of the sender go before those of the recipient.
      if (phrase.trim() !== "" && !found.has(phrase)) found.set(phrase, term);
    }
  };
  const noun = (lines: readonly string[], kind: Noun) =>
    add(lines, { noun: kind, statement: null, side: "either", reach: 0, back: 0, whole: false });
  const states = (lists: readonly StateTerms[], statement: Statement) => {
    for (const { side, reach, near, terms } of lists) {
      const back = near === true ? REACH_NEXT : REACH_AFTER;
      add(terms, { noun: null, statement, side, reach: reach ?? reachOf(side), back, whole: false });
    }
  };
  noun(SENDER_NOUNS, "sender");
  noun(RECIPIENT_NOUNS, "recipient");
  noun(OTHER_NOUNS, "other");
  const whole = (lines: readonly string[], statement: Statement) =>
    add(lines, { noun: null, statement, side: "either", reach: 0, back: 0, whole: true });
  const spoken = Object.values(BY_LANGUAGE);
  const saying = (key: keyof MailboxTerms) => spoken.flatMap((terms) => terms[key] ?? []);
  noun(saying("mailbox"), "recipient");
  whole(ABSENT_WHOLE, "absent");
  whole(saying("nobody"), "absent");
  whole(saying("used"), "full");
  states([...ABSENT, { side: "either", terms: saying("absent") }], "absent");
  states([...SHUT, { side: "either", terms: saying("shut") }], "shut");
  states([...FULL, { side: "either", terms: saying("full") }], "full");
  states(UNAVAILABLE, "unavailable");
  states(INVALID, "invalid");
  return found;
}

function reachOf(side: Side): number {
  return side === "before" ? REACH_BEFORE : REACH_EITHER;
}

const terms = lazy(() => {
  const all = [...termsOf()];
  const phrases = all.map(([phrase, term]) => ({
    term,
    length: phrase.length,
    lead: phrase.startsWith(" ") ? 1 : 0,
    tail: phrase.endsWith(" ") ? 1 : 0,
  }));
  return { book: compilePhrases(all.map(([phrase]) => phrase)), phrases };
});

/** Terms in the order of the text; of those that overlap, the longest that begins first. */
function hitsIn(spoken: string): Hit[] {
  const hits: Hit[] = [];
  const { book, phrases } = terms();
  book.scan(spoken, (index, behind) => {
    const phrase = phrases[index];
    if (phrase === undefined) return;
    const hit = { term: phrase.term, start: behind - phrase.length + phrase.lead, end: behind - phrase.tail };
    for (let last = hits.at(-1); last !== undefined && last.start >= hit.start; last = hits.at(-1))
      hits.pop();
    const before = hits.at(-1);
    if (before === undefined || before.end <= hit.start) hits.push(hit);
  });
  return hits;
}

/** A place or a purpose. */
const IN_FRONT =
  / (?:in|on|at|for|from|by|with|to|under|of|im|auf|bei|dans|sur|chez|en|nel|sul|su|op|pa|na|w|v|u) (?:the |this |our |my |your |that |its |a |any |local |dem |der |este |ce |questo |nosso |notre )?$/;
/** Prepositions of, in or for, between a noun and its owner or place. */
const GENITIVE =
  / (?:of|in|for|from|der|des|du|de|del|della|di|do|da|van|av|af|του|της) (?:the |this |your |a |la |le |el |o |de |het )?$/;
/** `of` only, not `in`: `no such address in domain` is a statement about the address. */
const OF = /^ of (?:the |this |your |a )?$/;
/** Ours, not the recipient's. */
const YOURS = / (?:your|ihre|ihr|votre|tu|su|sua|suo|seu|vostro|vostra|twoj|twoje|vase|ваш|ваша) $/;
/** Nouns that mean the recipient, whichever party is addressed. */
const SURELY_RECIPIENT = /^(?:recipient|rcpt|destinat|addressee|empfang|empfaeng)/;
/** `Access denied from unknown`: not a state of the recipient. */
const FROM = / (?:from|by|via|von|de|par|helo|ehlo|to) $/;
/** An IPv4 address behind the word for one. */
const NUMBERS = /^ \d{1,3} \d{1,3} \d{1,3} \d{1,3} /;
/** Words that may be between a pause and a statement: any other word is a subject of its own. */
const FILLERS =
  /^ ?(?:(?:it|is|was|are|this|that|sorry|has|have|been|could|does|the|or|and|said|code|error|rejected|id|est|ist|e|es|\d+) )*$/;
/** Between a word and a noun that it does not belong to: `unknown to this user`, `Unknown sender. User …`. */
const APART = / (?:[,.]|to|by|for|in|at|from|of|on|with) /;
/** Words that may follow a statement about a noun far before it; any other word would be its own noun. */
const CLOSING =
  /^ (?:[,.@]|\d|$|(?:in|on|at|here|for|to|or|and|within|with|due|because|since|as|from|by|but|so|please|check|contact|see|anymore|now|permanently|a|au|sur|dans|en|no|na|neste|nel|su|auf|im|bei|hier|w|u|в|на|и|user|is) )/;

/** Words before `hit`, as many as the patterns for them can need. */
function leadOf(spoken: string, hit: Hit): string {
  return spoken.slice(Math.max(0, hit.start - 32), hit.start);
}

/** The owner of an address that is not the recipient's: `address of your domain`, `address in MAIL FROM`. */
function ownerOfAddress(spoken: string, hits: readonly Hit[], i: number): Noun | null {
  const hit = hits[i] as Hit;
  const next = hits[i + 1];
  if (next === undefined || next.term.noun === null || next.term.noun === "recipient") return null;
  const gap = spoken.slice(hit.end, next.start);
  const owned = next.term.noun === "sender" ? GENITIVE.test(gap) : OF.test(gap);
  return spoken.startsWith("addr", hit.start) && owned ? next.term.noun : null;
}

/**
 * The party that each noun means in its sentence. In a compound the last noun counts (`recipient domain`, `sender
 * address`), in a genitive the first (`domain of the recipient`). A noun behind a preposition is a place (`no user on this
 * server`), so it is not the subject of a statement.
 */
function nounsOf(spoken: string, hits: readonly Hit[]): (Noun | null)[] {
  const kinds: (Noun | null)[] = hits.map(({ term }) => term.noun);
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i] as Hit;
    if (hit.term.noun === null) continue;
    const previous = hits[i - 1];
    const joined = previous !== undefined && previous.term.noun !== null && hit.start - previous.end <= 1;
    if (hit.term.noun === "recipient") {
      const lead = leadOf(spoken, hit);
      if (SENT_TO.test(lead)) kinds[i] = "other";
      else if (NUMBERS.test(spoken.slice(hit.end, hit.end + 18))) kinds[i] = "other";
      else if (YOURS.test(lead) && !SURELY_RECIPIENT.test(spoken.slice(hit.start, hit.end)))
        kinds[i] = "other";
      else if (joined && kinds[i - 1] !== "recipient") kinds[i] = kinds[i - 1] ?? previous.term.noun;
      else if (ownerOfAddress(spoken, hits, i) !== null) kinds[i] = ownerOfAddress(spoken, hits, i);
      else if (previous !== undefined && previous.term.noun !== null && hit.start - previous.end < 12)
        if (previous.term.noun !== "recipient" && GENITIVE.test(lead)) kinds[i] = previous.term.noun;
    } else if (joined && previous.term.noun === "recipient") kinds[i - 1] = hit.term.noun;
    else if (hit.term.noun === "other" && IN_FRONT.test(leadOf(spoken, hit))) kinds[i] = null;
  }
  return kinds;
}

/** The reply as words, its terms, and the parties that its nouns mean. */
interface Parsed {
  spoken: string;
  hits: readonly Hit[];
  kinds: readonly (Noun | null)[];
}

/**
 * True when the words from `from` to `to` belong to one statement: no end of a sentence, and no other subject after a
 * pause.
 */
function isOneStatement(spoken: string, from: number, to: number): boolean {
  const gap = spoken.slice(from, to);
  if (gap.includes(" . ")) return false;
  const pause = gap.lastIndexOf(" , ");
  return pause < 0 || FILLERS.test(gap.slice(pause + 2));
}

/** The noun that follows hit `i` within its reach, without a pause. */
function nounBehind({ spoken, hits, kinds }: Parsed, i: number): Noun | null {
  const state = hits[i] as Hit;
  for (let j = i + 1; j < hits.length; j++) {
    const next = hits[j] as Hit;
    if (next.start - state.end > state.term.reach) return null;
    if (next.term.noun === null) continue;
    const gap = spoken.slice(state.end, next.start);
    return APART.test(gap) ? null : kinds[j] === null ? "other" : (kinds[j] as Noun);
  }
  return null;
}

/** The noun in front of hit `i` that it speaks of. */
function nounInFront({ spoken, hits, kinds }: Parsed, i: number, reach: number): Noun | null {
  const state = hits[i] as Hit;
  for (let j = i - 1; j >= 0; j--) {
    const previous = hits[j] as Hit;
    if (state.start - previous.end > reach) return null;
    if (kinds[j] === null || previous.term.noun === null) continue;
    return isOneStatement(spoken, previous.end, state.start) ? (kinds[j] as Noun) : null;
  }
  return null;
}

/** The subject of hit `i`. A sentence without a noun speaks of the address behind its pause: `Unknown: <…>`. */
function subjectOf(parsed: Parsed, i: number): Noun | null {
  const found = boundNoun(parsed, i);
  if (found !== null) return found;
  const { spoken, hits } = parsed;
  const bare =
    /^(?: , | )@ /.test(spoken.slice((hits[i] as Hit).end)) &&
    !hits.slice(0, i).some(({ term }) => term.noun);
  return bare ? "recipient" : null;
}

/** The noun that hit `i` belongs to. */
function boundNoun(parsed: Parsed, i: number): Noun | null {
  const state = parsed.hits[i] as Hit;
  const { side, whole } = state.term;
  const near = parsed.spoken.charAt(state.start - 2) !== ",";
  // `domain is not known here`: the noun next to it is meant.
  if (whole) return (near ? nounInFront(parsed, i, REACH_NEXT) : null) ?? "recipient";
  if (side === "before") return nounBehind(parsed, i);
  if (side === "after") return nounInFront(parsed, i, state.term.back);
  if (near && nounInFront(parsed, i, REACH_NEXT) === "recipient") return "recipient";
  if (FROM.test(leadOf(parsed.spoken, state))) return null;
  const behind = nounBehind(parsed, i);
  if (behind !== null || !CLOSING.test(parsed.spoken.slice(state.end, state.end + 12))) return behind;
  return nounInFront(parsed, i, state.term.back);
}

/** Why a mailbox is shut, as other languages say it: `por falta de uso`, `wegen Inaktivität`. */
const FOR =
  "wegen|aufgrund|infolge|pour|cause|suite|per|causa|por|debido|wegens|door|z powodu|z|kvuli|pro|z duvodu|din cauza|pentru|pa grund|pga|grundet|miatt|из|за|по|через|поради|zbog|zaradi";
const NOT_USED =
  "(?:lange[rn]? |longue |lunga |larga |dlouh[a-z]* )?(?:inak?ti[vw]|ina[ct]?tiv|inattiv|inactiv|inutiliz|non ?utiliz|mancato utilizzo|falta de uso|falta de activ|desuso|nao utiliz|no uso|nieaktywn|braku aktywn|neaktiv|necinn|nichtnutz|neuzivan|неактивн|неиспольз|отсутств|не использ|невикорист)";
/** What may follow a word for shut: the end of the clause, or a reason that shuts a mailbox for good. */
const SHUT_CLOSES = new RegExp(
  `^(?:${[
    " (?:[,.@]|\\d|$)",
    " (?:and|or|but|now|here|permanently|anymore|as|please|contact|see|error|id|user|account|mailbox|recipient|address|because|since|due to) ",
    " for (?:(?:a )?long |long-term )?(?:inactivity|non|unpaid|abuse|violat[a-z]*|policy viol[a-z]*|misuse|receiving|this|good|lack of|more than|over (?:a|\\d)|\\d+ (?:days|weeks|months|years)) ?",
    " by (?:(?:the |its |our |your )?(?:admin[a-z]*|postmaster|abuse|security|support|staff|helpdesk|owners?|user|domain|mail|system|provider)|request) ",
    " (?:at|on|upon) (?:this|the|user|owners?|its|his|her|own|request|our|your|customer) ",
    " (?:with smtp|from \\d+|(?:from|on) [,.]|in our|in this|for more|administratively|permanently|forever|long ago) ",
    " (?:e|y|et|ou|oder|und|o|oraz|lub|nebo|i|ve|veya|og|och|en|of|eller|sau|и|или|та|або) ",
    // The ground: it is not used. `Bloqueado por el usuario` shuts no mailbox.
    ` (?:${FOR})(?: [^ ,.]{1,12}){0,2} (?:${NOT_USED})`,
    " (?:auf wunsch|a la demande|su richiesta|por solicitud|a pedido|a peticion|op verzoek|na zyczenie|po zadosti|по запросу|по просьбе) ",
    " ?(?:[\u3040-\u30ff\u3400-\u9fff]|되었|됨|된 |상태|입니다|하였|중입)",
  ].join("|")})`,
);
/** An active verb, with an object: `Empfänger hat Sie gesperrt`, `Le destinataire a bloqué votre adresse`. */
const ACTIVE =
  / (?:has|have|had|hat|heeft|ha|a|har|haben)(?: (?!been |sido |ete |stato |stata |varit |blitt |blevet )[^ ,.]+){0,6} $/;
/** Within one clause, a subject that has something. */
const HOLDS = /^[^,.]{0,40} (?:has|have|had|hat|a|tiene|tem|ha|heeft) [^,.]{0,24}$/;
/** A state that has no actor: `Your account has expired`. */
const OF_ITSELF = /^(?:expired|abgelaufen|scadut[oa])$/;
/** A subject that was sent to the recipient, not the recipient itself. */
const SENT_TO =
  / (?:mail|messages?|delivery|verification|notifications?|reports?|receipts?|forwarding|copies|replies|nachrichten?|nachricht|message|mails) (?:for|to|of|an) (?:the |this |that |your )?$/;
/** What may follow the noun of `no`: any other word makes a noun of its own (`no alias expansion`) or another predicate. */
const NO_CLOSES =
  /^ (?:[,.@]|\d|$|[^ ]{0,12}(?:here|found|exist|such|named|called)|(?:by|with|for|on|at|in (?!message )|of|was|is|matches|matching|has|have|called|known|configured|defined|listed|registered|mit|unter|auf|bei|im|in|hier|gefunden|vorhanden|bekannt|de ce|avec|a cette|ici|con|com|aqui|qui|met|op|hier|and|or|und|et|chez|trouve|available|active|to|there|under|error|please|check|code|o|med|pa|fundet|found) )/;
const NO = /^(?:no|kein|keine|keinen|aucun|aucune|pas de|pas d|geen|ingen|not our|not a)$/;

/**
 * True when a domain, a sender or the like has the object that `noun` names: `Domain example.com has outgoing email
 * disabled`.
 */
function isHeldBy(spoken: string, hits: readonly Hit[], noun: Hit | undefined): boolean {
  if (noun === undefined) return false;
  const holder = hits.findLast(
    ({ term, start }) => start < noun.start && (term.noun === "other" || term.noun === "sender"),
  );
  return holder !== undefined && HOLDS.test(spoken.slice(holder.end, noun.start));
}

/** True when hit `i`, a state, has an object of its own, or a predicate about another subject than the recipient. */
function isOfSomethingElse({ spoken, hits }: Parsed, i: number): boolean {
  const state = hits[i] as Hit;
  const said = spoken.slice(state.start, state.end);
  const behind = hits.slice(i + 1, i + 3).find(({ term }) => term.noun === "recipient");
  if (NO.test(said))
    return behind !== undefined && !NO_CLOSES.test(spoken.slice(behind.end, behind.end + 24));
  if (state.term.statement !== "shut") return false;
  const front = hits.slice(0, i).findLast(({ term }) => term.noun !== null);
  const next = hits[i + 1];
  if (isHeldBy(spoken, hits, front)) return true;
  const attributive = next !== undefined && next.start - state.end <= 1 && next.term.noun === "recipient";
  if (front === undefined || attributive) return false;
  if (ACTIVE.test(spoken.slice(front.end, state.start)) && !OF_ITSELF.test(said)) return true;
  return !SHUT_CLOSES.test(spoken.slice(state.end, state.end + 24));
}

/**
 * The statements of a reply about the recipient. Each word for a state (unknown, not found, disabled, full …) is bound to
 * its noun. It counts when that noun is the recipient's mailbox. One pass over the text and one over its terms.
 * @param prose decoded, with `*@*` for mail addresses and `*` for host names
 */
export function readStatements(prose: string): RecipientStatements {
  const spoken = spokenOf(prose);
  const hits = hitsIn(spoken);
  const parsed = { spoken, hits, kinds: nounsOf(spoken, hits) };
  const statements = new Set<Statement>();
  // A reply that speaks of the sender does not say for sure that the recipient is missing.
  const namesSender = hits.some(({ term }) => term.noun === "sender");
  const doubtful = isDoubtful(spoken);
  let ofSender = false;
  for (let i = 0; i < hits.length; i++) {
    const { statement } = (hits[i] as Hit).term;
    if (statement === null) continue;
    const noun = subjectOf(parsed, i);
    const acquitted = namesSender || doubtful || isOfSomethingElse(parsed, i);
    if (noun === "recipient" && (statement === "full" || !acquitted)) statements.add(statement);
    const ofEither = noun === "sender" || (noun === "recipient" && namesSender);
    if (ofEither && (statement === "absent" || statement === "invalid")) ofSender = true;
  }
  const elsewhere = parsed.kinds.some((kind) => kind === "other" || kind === "sender");
  return { statements, concernsSender: ofSender, concernsOthers: elsewhere };
}
