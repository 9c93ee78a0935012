import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import type { Trees } from "../layers/measures.ts";

/** Part of a file in which a word is counted. */
type Place = "paths" | "identifiers" | "comments" | "strings";

export interface PrivateWord {
  word: string;
  /** The field's term for it. */
  term: string;
  /** Every form of the word, as patterns. */
  forms: readonly string[];
  /** The one place where it is private; elsewhere it is a word like any other. */
  only?: Place;
}

/** Words that mean something in this project alone. */
const PRIVATE_WORDS: readonly PrivateWord[] = [
  { word: "way out", term: "egress route", forms: ["ways? out"] },
  { word: "stranger", term: "catch-all probe", forms: ["strangers?"] },
  { word: "house", term: "sender identity, self-check", forms: ["houses?"] },
  { word: "crowder", term: "a team over its share", forms: ["crowders?"] },
  { word: "elder", term: "the longest waiting request", forms: ["elders?"] },
  { word: "guest", term: "admitted request", forms: ["guests?"] },
  { word: "seat", term: "slot", forms: ["seats?"] },
  { word: "passenger", term: "waiter", forms: ["passengers?"] },
  { word: "tower", term: "in-flight map", forms: ["towers?"] },
  { word: "alight", term: "leave", forms: ["alight(?:s|ed|ing)?"] },
  { word: "teller", term: "per-credential handle", forms: ["tellers?"] },
  { word: "stays", term: "parked rows", forms: ["stays"], only: "identifiers" },
  { word: "beat", term: "interval", forms: ["beats?"] },
  { word: "tour", term: "probe attempt", forms: ["tours?"] },
  { word: "usual way, at length", term: "fast probe, full probe", forms: ["usual ways?", "at length"] },
  { word: "belief", term: "learned behaviour", forms: ["beliefs?", "disbelie(?:f|ves?|ved|ving)"] },
  { word: "chore, rounds", term: "periodic task", forms: ["chores?", "rounds"] },
  { word: "at hand, at rest", term: "in memory, idle", forms: ["at hand", "at rest"] },
  { word: "is told", term: "onX, received, reported", forms: ["(?:is|are|was|were|be|been) told"] },
  { word: "who asks, whoever", term: "the caller", forms: ["who ask(?:s|ed)?", "whoever", "whomever"] },
  { word: "nobody, somebody", term: "no request, no row, null", forms: ["nobody", "somebody"] },
];

const PATTERNS = PRIVATE_WORDS.map(({ forms }) => new RegExp(`\\b(?:${forms.join("|")})\\b`, "g"));

const IDENTIFIERS = new Set([SyntaxKind.Identifier, SyntaxKind.PrivateIdentifier]);
const STRINGS = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
]);

/** `wayOut`, `WAY_OUT`, `way-out` and a phrase broken over two lines of a comment all read "way out". */
function plainWords(text: string): string {
  return text
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_\-/*\s]+/g, " ")
    .toLowerCase();
}

function isModulePath({ parent }: Node): boolean {
  return parent.kind === SyntaxKind.ImportDeclaration || parent.kind === SyntaxKind.ExportDeclaration;
}

/** Text of a file, by part. All text that is neither an identifier nor a string counts as comment: code has no other words. */
function textsOf(path: string, file: SourceFile): Record<Place, string> {
  const texts = { paths: path, identifiers: "", comments: "", strings: "" };
  let rest = 0;
  function visit(node: Node): void {
    const isString = STRINGS.has(node.kind);
    if (!isString && !IDENTIFIERS.has(node.kind)) {
      node.forEachChild(visit);
      return;
    }
    const start = node.getStart(file);
    const text = `${file.text.slice(start, node.end)} ; `;
    // The path of a module counts where that module is, not again where it is imported.
    if (!isString) texts.identifiers += text;
    else if (!isModulePath(node)) texts.strings += text;
    texts.comments += `${file.text.slice(rest, start)} ; `;
    rest = node.end;
  }
  visit(file);
  texts.comments += file.text.slice(rest);
  return texts;
}

export interface WordCount extends Record<Place, number> {
  word: PrivateWord;
}

/** Occurrences of each private word by part, in the order of `PRIVATE_WORDS`. */
export function countPrivateWords(trees: Trees): WordCount[] {
  const counts = PRIVATE_WORDS.map((word) => ({ word, paths: 0, identifiers: 0, comments: 0, strings: 0 }));
  for (const [path, file] of trees) {
    for (const [place, text] of Object.entries(textsOf(path, file)) as [Place, string][]) {
      const plain = plainWords(text);
      for (const [i, count] of counts.entries()) {
        const { only } = count.word;
        if (only === undefined || only === place)
          count[place] += plain.match(PATTERNS[i] as RegExp)?.length ?? 0;
      }
    }
  }
  return counts;
}
