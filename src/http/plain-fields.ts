import type { FieldSource } from "./framing.ts";

/** What a request without a body says in the fields that matter to it. One object for all requests: each is done with within its call. */
export interface PlainFields {
  authorization: string;
  requestId: string;
}

/** How often each came, and fields that say how long a body is. */
interface Counts {
  authorizations: number;
  requestIds: number;
  lengths: number;
}

/**
 * Reads the fields in one call into uWebSockets.js, also those that do not matter: each by its name would be a call for each, and
 * tell no doubles.
 * @returns null: not plain. There is no credential, or more than one; or a body, as far as the fields say.
 */
export function createPlainFields(): (source: FieldSource) => PlainFields | null {
  const fields: PlainFields = { authorization: "", requestId: "" };
  const counts: Counts = { authorizations: 0, requestIds: 0, lengths: 0 };

  function readField(name: string, value: string): void {
    if (name === "authorization") {
      fields.authorization = value;
      counts.authorizations += 1;
    } else if (name === "x-request-id") {
      fields.requestId = value;
      counts.requestIds += 1;
    } else if (name === "content-length" || name === "transfer-encoding") counts.lengths += 1;
  }

  return (source) => {
    fields.authorization = "";
    fields.requestId = "";
    counts.authorizations = 0;
    counts.requestIds = 0;
    counts.lengths = 0;
    source.forEach(readField);
    if (counts.authorizations === 1 && counts.requestIds <= 1 && counts.lengths === 0) return fields;
    // A secret that nobody will take from here.
    fields.authorization = "";
    return null;
  };
}
