import { readFileSync } from "node:fs";
import type { ReplyStage } from "../../../../src/check/classify/subject.ts";
import type { SmtpClass } from "../../../../src/check/evidence.ts";

export interface Labelled {
  stage: ReplyStage;
  provider: string | null;
  label: SmtpClass;
  /** As on the wire, without CRLF. */
  lines: string[];
}

function wireLines(reply: string): string[] {
  const code = reply.slice(0, 3);
  const texts = reply.slice(4).split(" | ");
  return texts.map((text, i) => `${code}${i < texts.length - 1 ? "-" : " "}${text}`);
}

function labelled(row: string): Labelled {
  const [stage, provider, label, reply = ""] = row.split("\t");
  return {
    stage: stage as ReplyStage,
    provider: provider === "-" || provider === undefined ? null : provider,
    label: label as SmtpClass,
    lines: wireLines(reply),
  };
}

/** The replies of `corpus.tsv`, which says where they come from. */
export const CORPUS: readonly Labelled[] = readFileSync(new URL("corpus.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((row) => row !== "" && !row.startsWith("#"))
  .map(labelled);
