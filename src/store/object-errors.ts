import { S3ServiceException } from "@aws-sdk/client-s3";
import { TurnsTaken } from "./turns.ts";

/** Object storage answered that there is no such object, or no such bytes of it. */
export class MissingObject extends Error {
  override name = "MissingObject";
}

/** There is an object of that key, but not the one that was asked for by its ETag. */
export class ChangedObject extends Error {
  override name = "ChangedObject";
}

/** Somebody else's bucket does not let us read, or the object cannot be read as it is kept there. */
export class ForbiddenObject extends Error {
  override name = "ForbiddenObject";
}

/** Object storage failed us more often in a row than we try: it may succeed later. */
export class ObjectsOutage extends Error {
  override name = "ObjectsOutage";
}

/** Of the answer that an error is about, one that is no S3 answer (a proxy's page) included. */
export function httpStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  return (error as Pick<S3ServiceException, "$metadata">).$metadata.httpStatusCode;
}

/** Our credentials, or our clock, are not accepted: whatever is asked for, until the operator mends it. */
const NOT_LET_IN = new Set([
  "CredentialsProviderError",
  "ExpiredToken",
  "InvalidAccessKeyId",
  "InvalidToken",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);

/** Whether a request failed for want of the object storage: it may succeed when it is repeated. */
export function isObjectsOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof ObjectsOutage || error instanceof TurnsTaken) return true;
  const status = httpStatus(error) ?? 0;
  if (status >= 500 || status === 429 || NOT_LET_IN.has(error.name)) return true;
  if (error instanceof S3ServiceException) return error.$fault === "server";
  const { code, name } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" || /^E(?!RR_)[A-Z]+$/.test(code ?? "");
}
