import { S3ServiceException } from "@aws-sdk/client-s3";
import { SemaphoreFull } from "../../platform/semaphore.ts";

/** Object storage answered that the object, or the byte range, does not exist. */
export class MissingObject extends Error {
  override name = "MissingObject";
}

/** An object of that key exists, but not with the requested ETag. */
export class ChangedObject extends Error {
  override name = "ChangedObject";
}

/** A granted bucket denies the read, or the object cannot be read as it is stored there. */
export class ForbiddenObject extends Error {
  override name = "ForbiddenObject";
}

/** Object storage failed every attempt: a later one may succeed. */
export class ObjectsOutage extends Error {
  override name = "ObjectsOutage";
}

/** The HTTP status of the response that caused an error, also when a proxy sent it instead of S3. */
export function httpStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  return (error as Pick<S3ServiceException, "$metadata">).$metadata.httpStatusCode;
}

/** Our credentials, or our clock, are rejected: every request fails until the operator fixes it. */
const NOT_LET_IN = new Set([
  "CredentialsProviderError",
  "ExpiredToken",
  "InvalidAccessKeyId",
  "InvalidToken",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);

/** Whether object storage failed the request: a repetition may succeed. */
export function isObjectsOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof ObjectsOutage || error instanceof SemaphoreFull) return true;
  const status = httpStatus(error) ?? 0;
  if (status >= 500 || status === 429 || NOT_LET_IN.has(error.name)) return true;
  if (error instanceof S3ServiceException) return error.$fault === "server";
  const { code, name } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" || /^E(?!RR_)[A-Z]+$/.test(code ?? "");
}
