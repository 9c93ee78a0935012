import { delayNamed } from "./delay.ts";
import { type RecipientStatements, readStatements } from "./grammar.ts";
import type { MatchableReply } from "./matchable-reply.ts";
import { compilePhrases, type PhraseBook } from "./phrases.ts";
import type { Rule } from "./rule.ts";
import { saysNoReason } from "./silence.ts";

/** Finds the first rule that a reply meets. */
export interface RuleMatcher {
  find(subject: MatchableReply): Rule | null;
}

/** Numbered lists of fragments, compiled into one phrase book. */
interface Lists {
  book: PhraseBook;
  /** Lists that each phrase of the book is in. */
  of: readonly number[][];
  count: number;
}

function compileLists(lists: readonly (readonly string[])[]): Lists {
  const of = new Map<string, number[]>();
  lists.forEach((list, index) => {
    for (const fragment of new Set(list)) {
      const within = of.get(fragment);
      if (within === undefined) of.set(fragment, [index]);
      else within.push(index);
    }
  });
  return { book: compilePhrases([...of.keys()]), of: [...of.values()], count: lists.length };
}

/** Which lists have a fragment in `text`. */
function listsIn({ book, of, count }: Lists, text: string): Uint8Array {
  const heard = new Uint8Array(count);
  book.scan(text, (phrase) => {
    for (const list of of[phrase] ?? []) heard[list] = 1;
  });
  return heard;
}

/** The matches of one reply. Its grammar is read when the first rule needs it. */
class ReplyMatch {
  readonly inText: Uint8Array;
  readonly inProse: Uint8Array;
  readonly #subject: MatchableReply;
  #said: RecipientStatements | null = null;

  constructor(lists: Lists, subject: MatchableReply) {
    this.#subject = subject;
    this.inText = listsIn(lists, subject.text);
    this.inProse = subject.prose === subject.text ? this.inText : listsIn(lists, subject.prose);
  }

  get grammar(): RecipientStatements {
    this.#said ??= readStatements(this.#subject.prose);
    return this.#said;
  }

  get givesNoReason(): boolean {
    return saysNoReason(this.#subject.prose);
  }

  get namesDelay(): boolean {
    return delayNamed(this.#subject.text) !== null;
  }
}

function hasCode(code: string, enhanced: string): boolean {
  if (code.startsWith("x.")) return enhanced.slice(1) === code.slice(1);
  const digits = code.indexOf("#");
  if (digits >= 0) return enhanced.length === code.length && enhanced.startsWith(code.slice(0, digits));
  return code.endsWith(".") ? enhanced.startsWith(code) : enhanced === code;
}

function hasAny(codes: readonly string[], enhanced: string | null): boolean {
  if (enhanced === null) return false;
  for (const code of codes) if (hasCode(code, enhanced)) return true;
  return false;
}

/** Checks all conditions on codes and providers; `RuleIndex` has checked stage and code. */
function meetsCodes(rule: Rule, subject: MatchableReply): boolean {
  const { enhanced, unlessEnhanced, providers } = rule;
  if (enhanced !== undefined && !hasAny(enhanced, subject.enhanced)) return false;
  if (unlessEnhanced !== undefined && hasAny(unlessEnhanced, subject.enhanced)) return false;
  if (providers !== undefined && !providers.includes(subject.provider ?? "")) return false;
  if (rule.namesUs && !subject.namesUs) return false;
  if (rule.namesUsInNote && !subject.namesUsInNote) return false;
  if (rule.namesUsInGreeting && !subject.namesUsInGreeting) return false;
  if (rule.terse && !subject.terse) return false;
  return !rule.wordless || subject.wordless;
}

function meetsGrammar(rule: Rule, hearing: ReplyMatch): boolean {
  if (rule.namesDelay && !hearing.namesDelay) return false;
  if (rule.ofSender && !hearing.grammar.concernsSender) return false;
  if (rule.unlessElsewhere && hearing.grammar.concernsOthers) return false;
  if (rule.says && !rule.says.some((statement) => hearing.grammar.statements.has(statement))) return false;
  if (rule.unlessSays?.some((statement) => hearing.grammar.statements.has(statement))) return false;
  return !rule.silent || hearing.givesNoReason;
}

/** A rule with the numbers of its lists, -1 for none. */
interface CompiledRule {
  rule: Rule;
  text: number;
  beside: number;
  unless: number;
  /**
   * True when the fragments must be in prose: a server called `mailbox.example.com` has made no statement about a mailbox.
   */
  inProse: boolean;
}

/** The rules that speak of a stage and a code, in order. Each pair is looked up once; there are five stages of 400 codes. */
class RuleIndex {
  readonly #rules: readonly CompiledRule[];
  readonly #found = new Map<string, readonly CompiledRule[]>();

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
  }

  of({ stage, code }: MatchableReply): readonly CompiledRule[] {
    const key = `${code}${stage}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = this.#rules.filter(
      ({ rule: { stages, codes } }) =>
        (stages?.includes(stage) ?? true) && (codes?.some((digits) => code.startsWith(digits)) ?? true),
    );
    this.#found.set(key, found);
    return found;
  }
}

/**
 * Compiles `rules` once: all their fragments into one automaton. A reply is then read once for fragments, and once more for
 * its grammar if a rule needs that. Each rule is a few comparisons, so the time is linear in the length of the reply.
 */
export function compileRules(rules: readonly Rule[]): RuleMatcher {
  const fragments = rules
    .flatMap(({ text, beside, unless }) => [text, beside, unless])
    .filter((list) => list !== undefined);
  const numbers = new Map([...new Set(fragments)].map((list, index) => [list, index]));
  const lists = compileLists([...numbers.keys()]);
  const numberOf = (list: readonly string[] | undefined) =>
    list === undefined ? -1 : (numbers.get(list) ?? -1);
  const index = new RuleIndex(
    rules.map((rule) => ({
      rule,
      text: numberOf(rule.text),
      beside: numberOf(rule.beside),
      unless: numberOf(rule.unless),
      inProse: rule.class === "mailbox_not_found" || rule.class === "mailbox_disabled",
    })),
  );
  return {
    find(subject) {
      const hearing = new ReplyMatch(lists, subject);
      for (const { rule, text, beside, unless, inProse } of index.of(subject)) {
        if (text >= 0 && (inProse ? hearing.inProse : hearing.inText)[text] !== 1) continue;
        if (beside >= 0 && hearing.inText[beside] !== 1) continue;
        if (unless >= 0 && hearing.inProse[unless] === 1) continue;
        if (meetsCodes(rule, subject) && meetsGrammar(rule, hearing)) return rule;
      }
      return null;
    },
  };
}
