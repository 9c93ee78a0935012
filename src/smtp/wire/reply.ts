import { LIMITS } from "../../config/limits/limits.ts";
import { ReplyCache } from "./reply-cache.ts";

/**
 * One complete SMTP reply (RFC 5321 §4.2), decoded as Latin-1 so that no byte is lost or invented. A frozen reply is short,
 * holds no address and is the same object each time; values derived from other replies are not worth caching.
 */
export interface SmtpReply {
  readonly code: number;
  /** RFC 3463 code from the first line that has one, e.g. `5.1.1`; its class always equals the code's first digit. */
  readonly enhanced: string | null;
  /** Text of each line, without code and separator. */
  readonly lines: readonly string[];
}

/** A fault that makes a stream of replies unreadable. Do not use a parser again after it reported one. */
export type ReplyFault = "protocol" | "reply_too_long";

export interface ReplyParser {
  /**
   * Parses `chunk`, which the caller may overwrite afterwards, and calls back for each completed reply. The callback
   * returns false to leave the rest of the chunk unread.
   * @param length number of valid bytes in the chunk; default all
   */
  push(chunk: Buffer, onReply: (reply: SmtpReply) => boolean, length?: number): ReplyFault | null;
  /** An unfinished reply is buffered. */
  readonly hasPending: boolean;
  /** Drops an unfinished reply. */
  reset(): void;
}

const GREETING = 220;
const SPACE = 0x20;
const HYPHEN = 0x2d;
const CR = 0x0d;

function digitAt(text: string, index: number): number {
  const digit = text.charCodeAt(index) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

/** The code at the start of `line`, or -1. Second digits above 5 violate the RFC but are in use (`571`, `596`). */
function codeOf(line: string): number {
  const [first, second, third] = [digitAt(line, 0), digitAt(line, 1), digitAt(line, 2)];
  if (first < 2 || first > 5 || second < 0 || third < 0) return -1;
  return digitAt(line, 3) < 0 ? first * 100 + second * 10 + third : -1;
}

/**
 * Enhanced code at the start of the text; some servers write `#5.1.0` or `[5.1.1]`. `5.1.1.2` is an IP address, not a code.
 */
const ENHANCED = /^[#[(]?([245]\.\d{1,3}\.\d{1,3})(?!\d|\.\d)/;

function enhancedOf(code: number, lines: readonly string[]): string | null {
  const digit = String.fromCharCode(0x30 + Math.floor(code / 100));
  for (const line of lines) {
    const found = ENHANCED.exec(line)?.[1];
    if (found?.startsWith(digit)) return found;
  }
  return null;
}

function frozen(reply: SmtpReply): SmtpReply {
  Object.freeze(reply.lines);
  return Object.freeze(reply);
}

/** Shared by all sessions of the thread. */
const REPLY_CACHE = new ReplyCache<SmtpReply>();

/**
 * An incremental parser, bounded by the `reply…` bounds of `LIMITS.smtp`. It tolerates what real servers send: bare LF, no text or no space
 * after the code. Lines of one reply with different codes, or a line without a code, are a protocol fault. The exception is
 * a greeting that is started and taken back: Postfix's postscreen sends `220-mx.example.com ESMTP`, looks us up, and goes
 * on with `521 5.7.1 Service unavailable; client [192.0.2.1] blocked using …`. The refusal is the reply.
 */
class BoundedReplyParser implements ReplyParser {
  #partialLine = "";
  #code = 0;
  #lines: string[] = [];
  #bytes = 0;

  get hasPending(): boolean {
    return this.#partialLine !== "" || this.#lines.length > 0;
  }

  reset(): void {
    this.#partialLine = "";
    this.#lines = [];
    this.#bytes = 0;
  }

  push(chunk: Buffer, onReply: (reply: SmtpReply) => boolean, length = chunk.length): ReplyFault | null {
    let start = 0;
    for (;;) {
      const end = REPLY_CACHE.findLineEnd(chunk, start, length);
      if (end < 0)
        return start === length ? null : this.#keepPartialLine(chunk.toString("latin1", start, length));
      const isWhole = this.#partialLine === "" && this.#lines.length === 0;
      let reply = isWhole ? REPLY_CACHE.find(chunk, start, end) : null;
      if (reply === null) {
        const fault = this.#line(this.#partialLine + chunk.toString("latin1", start, end));
        this.#partialLine = "";
        if (fault !== null && fault !== "complete") return fault;
        if (fault === "complete") {
          reply = this.#finish();
          if (isWhole && REPLY_CACHE.isCacheable) REPLY_CACHE.store(chunk, start, end, frozen(reply));
        }
      }
      start = end + 1;
      if (reply !== null && !onReply(reply)) return null;
    }
  }

  #keepPartialLine(tail: string): ReplyFault | null {
    this.#partialLine += tail;
    return this.#partialLine.length > LIMITS.smtp.replyLineBytes ? "reply_too_long" : null;
  }

  #line(raw: string): ReplyFault | "complete" | null {
    this.#bytes += raw.length + 1;
    if (raw.length > LIMITS.smtp.replyLineBytes || this.#bytes > LIMITS.smtp.replyBytes)
      return "reply_too_long";
    const length = raw.charCodeAt(raw.length - 1) === CR ? raw.length - 1 : raw.length;
    const code = codeOf(raw);
    if (code < 0) return "protocol";
    if (this.#lines.length > 0 && code !== this.#code) {
      if (this.#code !== GREETING || code < 400) return "protocol";
      this.#lines = [];
    }
    if (this.#lines.length >= LIMITS.smtp.replyLines) return "reply_too_long";
    this.#code = code;
    const separator = length > 3 ? raw.charCodeAt(3) : SPACE;
    this.#lines.push(raw.slice(separator === SPACE || separator === HYPHEN ? 4 : 3, length));
    return separator === HYPHEN ? null : "complete";
  }

  #finish(): SmtpReply {
    const reply = { code: this.#code, enhanced: enhancedOf(this.#code, this.#lines), lines: this.#lines };
    this.#lines = [];
    this.#bytes = 0;
    return reply;
  }
}

export function createReplyParser(): ReplyParser {
  return new BoundedReplyParser();
}
