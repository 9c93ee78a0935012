import { ChangedObject, ForbiddenObject, MissingObject } from "../../../stores/objects/object-streams.ts";
import { SourceLost } from "../submit/source-rows.ts";
import { Interruption } from "./control.ts";
import { SourceUnavailable } from "./foreign-sources.ts";

/** An error as it crosses from thread to thread, where its class would be lost. */
export interface PackedError {
  /** One of KINDS; else the error's class is never checked. */
  kind: string;
  message: string;
  stack?: string;
  code?: string | number;
  cause?: PackedError;
}

type Make = (message: string, cause: unknown, code: unknown) => Error;

/** The classes that tasks ask for, see lossOf and Interruption. */
const KINDS: Record<string, { is: new (...args: never[]) => Error; make: Make }> = {
  interruption: { is: Interruption, make: (message, cause) => new Interruption(message, { cause }) },
  lost: { is: SourceLost, make: (_, cause, code) => new SourceLost(code as SourceLost["code"], cause) },
  unavailable: { is: SourceUnavailable, make: (message, cause) => new SourceUnavailable(message, { cause }) },
  forbidden: { is: ForbiddenObject, make: (message, cause) => new ForbiddenObject(message, { cause }) },
  missing: { is: MissingObject, make: (message, cause) => new MissingObject(message, { cause }) },
  changed: { is: ChangedObject, make: (message, cause) => new ChangedObject(message, { cause }) },
};
const OTHER = "other";

/** Deeper causes are dropped: logs follow no more of them. */
const MAX_CAUSES = 4;

/** What a library hung onto an error may be no plain data, and is left behind. */
export function packError(error: unknown, causesLeft = MAX_CAUSES): PackedError {
  if (!(error instanceof Error)) return { kind: OTHER, message: String(error) };
  const kind = Object.keys(KINDS).find((name) => error instanceof (KINDS[name]?.is ?? Error)) ?? OTHER;
  const { message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    kind,
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: packError(cause, causesLeft - 1) }),
  };
}

export function unpackError({ kind, message, stack, code, cause: packed }: PackedError): Error {
  const cause = packed === undefined ? undefined : unpackError(packed);
  const error = KINDS[kind]?.make(message, cause, code) ?? new Error(message, { cause });
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}
