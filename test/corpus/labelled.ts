import { existsSync, readFileSync } from "node:fs";
import { createReplyParser, type SmtpReply } from "../../src/smtp/wire/reply.ts";
import type { ReplyStage } from "../../src/verification/classify/matchable-reply.ts";
import { FAULT_OF } from "../../src/verification/classify/rule.ts";
import type { SmtpClass } from "../../src/verification/evidence.ts";
import { PROVIDER_MX_SUFFIXES } from "../../src/verification/lists/providers.ts";

/** Our own identity in every reply of the corpora: where a server quotes it, the refusal is about us. */
export const SELF = { heloName: "probe.rcpt.example", addresses: ["192.0.2.1", "2001:db8::1"] };

/** Collected blind, opened since: development material now. */
export const OPENED = ["opened-a", "opened-b", "opened-c", "opened-e", "opened-f"] as const;
/** Never seen by the authors of rules. */
export const BLIND = ["blind-d"] as const;
/** Two halves of one collection, smaller than the corpora before: neither shares a source or a reply with the other. */
export const HALVES = ["opened-e", "opened-f"] as const;
export const CORPUS_NAMES = ["development", ...OPENED, ...BLIND] as const;
export type CorpusName = (typeof CORPUS_NAMES)[number];

/** One reply with its meaning, as labelled by a person. */
export interface Labelled {
  /** Line of the file, from 1: what a report may name of a blind row. */
  line: number;
  stage: ReplyStage;
  /** Provider or MTA as the corpus names it; empty when it does not say. */
  server: string;
  /** The provider that a site of these servers rolls up to; null for MTAs and unnamed servers. */
  provider: string | null;
  label: SmtpClass;
  /** As on the wire, without CRLF. */
  lines: string[];
  /** Key into the corpus's own table of sources. */
  source: string;
}

const STAGES: readonly string[] = ["greeting", "ehlo", "starttls", "mail", "rcpt"];

/** Other names of providers, letters and digits only. Names of MTAs stand for no provider. */
const ALIASES: Readonly<Record<string, string>> = {
  gmail: "google",
  googleworkspace: "google",
  office365: "microsoft365",
  exchangeonline: "microsoft365",
  microsoft: "microsoft365",
  m365: "microsoft365",
  hotmail: "outlook",
  outlookcom: "outlook",
  icloud: "apple",
  aol: "yahoo",
  webde: "gmx",
  tonline: "telekom",
  "1and1": "ionos",
  messagelabs: "broadcom",
  symantec: "broadcom",
  free: "free_fr",
  freefr: "free_fr",
  wanadoo: "orange",
  "163": "netease",
  tencent: "qq",
  protonmail: "proton",
  spectrum: "charter",
  hanmail: "daum",
  kakao: "daum",
  xfinity: "comcast",
  yahoojp: "yahoo_jp",
};

function providerOf(server: string): string | null {
  const name = server.toLowerCase();
  if (name in PROVIDER_MX_SUFFIXES) return name;
  return ALIASES[name.replaceAll(/[^a-z0-9]/g, "")] ?? null;
}

/** Lines may repeat the code, with or without the hyphen, or leave it out after the first. */
function wireLines(reply: string): string[] {
  const code = reply.slice(0, 3);
  const texts = reply
    .split(" | ")
    .map((line) => (line.startsWith(code) && /^[ -]?$/.test(line.charAt(3)) ? line.slice(4) : line));
  return texts.map((text, i) => `${code}${i < texts.length - 1 ? "-" : " "}${text}`);
}

/** Throws with the number of the line, never with its reply: authors of rules must not see a blind reply. */
function labelled(row: string, line: number): Labelled {
  const [stage = "", server = "", label = "", reply = "", source = "", ...rest] = row.split("\t");
  const what = !STAGES.includes(stage)
    ? "stage"
    : !(label in FAULT_OF)
      ? "class"
      : !/^[2-5]\d\d(?:[ -]|$)/.test(reply)
        ? "reply"
        : source === "" || rest.length > 0
          ? "source"
          : null;
  if (what !== null) throw new Error(`line ${line}: not a ${what}`);
  return {
    line,
    stage: stage as ReplyStage,
    server: server === "-" ? "" : server,
    provider: providerOf(server),
    label: label as SmtpClass,
    lines: wireLines(reply),
    source,
  };
}

/** A corpus in file order. Lines that begin with `#`, empty ones and a row of column names are no replies. */
export function parseCorpus(text: string): Labelled[] {
  return text
    .split("\n")
    .map((row, index) => ({ row: row.replace(/\r$/, ""), line: index + 1 }))
    .filter(({ row }) => row !== "" && !row.startsWith("#") && !row.startsWith("stage\t"))
    .map(({ row, line }) => labelled(row, line));
}

/** null when the file is not there. */
export function readCorpus(name: CorpusName): Labelled[] | null {
  const file = new URL(`${name}.tsv`, import.meta.url);
  return existsSync(file) ? parseCorpus(readFileSync(file, "utf8")) : null;
}

/** The reply as the parser of the SMTP client gives it. UTF-8 in the corpus, bytes on the wire. */
export function parsedReply(lines: readonly string[]): SmtpReply {
  const replies: SmtpReply[] = [];
  const fault = createReplyParser().push(Buffer.from(`${lines.join("\r\n")}\r\n`), (reply) => {
    replies.push(reply);
    return true;
  });
  const [reply] = replies;
  if (fault !== null || reply === undefined || replies.length > 1) throw new Error("not one reply");
  return reply;
}

/** Key of replies with the same content: code and words, without case, digits and addresses. */
export function normalised(lines: readonly string[]): string {
  const said = lines.map((line) => line.slice(4)).join(" ");
  const words = said
    .toLowerCase()
    .replaceAll(/[^\s<>()"]+@[^\s<>()"]+/g, "@")
    .replaceAll(/[a-z0-9-]+(?:\.[a-z0-9-]+){2,}/g, "*")
    .replaceAll(/[^a-z\u0080-\uffff@*]+/g, " ");
  return `${lines[0]?.slice(0, 3)} ${words.trim()}`;
}
