import type { FieldSource } from "./framing.ts";

/** What a request without a body says in the fields that matter to it. One object for all requests: each is done with within its call. */
export interface SimpleRequestFields {
  readonly authorization: string;
  /** "" where there is none. */
  readonly requestId: string;
  /** "" where there is none, and where origins are not read. */
  readonly origin: string;
  /**
   * False: not plain. There is no credential, or more than one, or more than one id or origin; or a body, as far as the fields
   * say.
   */
  read(source: FieldSource): boolean;
  /** The secret, which nothing needs any more. */
  forget(): void;
}

const SHORTEST = "x-request-id".length;

/**
 * Reads them in one call into uWebSockets.js, also those that do not matter: each by its name would be a call for each, and
 * tell no doubles.
 * @param readsOrigin pages of other origins may call
 */
export function createSimpleRequestFields(readsOrigin: boolean): SimpleRequestFields {
  let authorizations = 0;
  let requestIds = 0;
  let lengths = 0;
  let origins = 0;

  function readField(name: string, value: string): void {
    // Host and most others are shorter than any of these, and to compare texts is a call for each.
    if (name.length < SHORTEST) return;
    if (name === "authorization") {
      fields.authorization = value;
      authorizations += 1;
    } else if (name === "x-request-id") {
      fields.requestId = value;
      requestIds += 1;
    } else if (name === "content-length" || name === "transfer-encoding") lengths += 1;
  }

  function readFieldOrOrigin(name: string, value: string): void {
    if (name !== "origin") readField(name, value);
    else {
      fields.origin = value;
      origins += 1;
    }
  }

  const readOne = readsOrigin ? readFieldOrOrigin : readField;
  const fields = {
    authorization: "",
    requestId: "",
    origin: "",
    read(source: FieldSource): boolean {
      fields.requestId = "";
      authorizations = 0;
      requestIds = 0;
      lengths = 0;
      if (readsOrigin) {
        fields.origin = "";
        origins = 0;
      }
      source.forEach(readOne);
      return authorizations === 1 && requestIds <= 1 && lengths === 0 && origins <= 1;
    },
    forget(): void {
      fields.authorization = "";
    },
  };
  return fields;
}
