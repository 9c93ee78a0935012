import { LIMITS } from "../../../config/limits/limits.ts";

const { responseBodyKeptBytes } = LIMITS.webhooks;

/** All but tab and line feed; and what the decoder puts in place of bytes that are not UTF-8. */
const NOT_TEXT = /(?![\t\n])\p{Cc}|\ufffd/gu;

/** What is text in these bytes: valid UTF-8, without control characters but tab and line feed. A cut character is left out. */
export function readResponseText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(NOT_TEXT, "");
}

/** Keeps the beginning of a response's body: `responseBodyKeptBytes` of LIMITS.webhooks at most. */
export interface ResponseBeginning {
  add(chunk: Uint8Array): void;
  text(): string;
}

export function createResponseBeginning(): ResponseBeginning {
  const chunks: Uint8Array[] = [];
  let left: number = responseBodyKeptBytes;
  return {
    add(chunk) {
      if (left === 0) return;
      // A copy: the chunk may be part of a larger buffer.
      const kept = Uint8Array.from(chunk.subarray(0, left));
      left -= kept.length;
      chunks.push(kept);
    },
    text: () => readResponseText(Buffer.concat(chunks)),
  };
}
