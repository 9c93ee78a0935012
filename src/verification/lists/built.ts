import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";
import * as v from "valibot";
import { compileLists, type SharedLists } from "./compile.ts";

/**
 * The lists as `npm run build` compiled them, beside the chunk that has this module; absent when TypeScript runs directly.
 */
export const BUILT_LISTS = "lists.bin";

const bytes = v.pipe(
  v.instance(Uint8Array),
  v.check(({ length }) => length > 0, "bytes were expected"),
);
const table = v.pipe(
  v.object({ words: bytes, labels: bytes }),
  v.check(({ words, labels }) => words.length === labels.length * 8, "eight bytes a label were expected"),
);
const PackedSchema = v.object({ disposable: table, role: table, free: table });

const DIGEST_BYTES = 32;
const digestOf = (content: Uint8Array) => createHash("sha256").update(content).digest();

/** The bytes of BUILT_LISTS: a digest, since a table has no other sign of damage. For machines of the same byte order. */
export function packLists({ disposable, role, free }: SharedLists): Buffer {
  const packed = ({ words, labels }: SharedLists["role"]) => ({
    words: new Uint8Array(words),
    labels: new Uint8Array(labels),
  });
  const content = serialize({
    disposable: packed(disposable),
    role: packed(role),
    free: packed(free),
  });
  return Buffer.concat([digestOf(content), content]);
}

function shared(from: Uint8Array): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(from.length);
  new Uint8Array(memory).set(from);
  return memory;
}

/** @throws Error or ValiError when it is not what `packLists` wrote */
export function unpackLists(file: Buffer): SharedLists {
  const content = file.subarray(DIGEST_BYTES);
  if (!digestOf(content).equals(file.subarray(0, DIGEST_BYTES))) throw new Error("its digest is another");
  const { disposable, role, free } = v.parse(PackedSchema, deserialize(content));
  const opened = ({ words, labels }: typeof role) => ({ words: shared(words), labels: shared(labels) });
  return {
    disposable: opened(disposable),
    role: opened(role),
    free: opened(free),
  };
}

/**
 * The lists of the build, else of the packages. Check threads wait for them before they begin: compiling them is 90 ms of
 * a start, reading them 2 ms.
 *
 * @throws Error that names a file of the build that cannot be read
 */
export function loadLists(file: string = fileURLToPath(new URL(BUILT_LISTS, import.meta.url))): SharedLists {
  if (!existsSync(file)) return compileLists();
  try {
    return unpackLists(readFileSync(file));
  } catch (error) {
    throw new Error(`${file} is not what npm run build wrote: build anew`, { cause: error });
  }
}
