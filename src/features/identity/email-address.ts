import { AppError } from "../../platform/errors.ts";
import { parseAddress } from "../../verification/address/address.ts";

/** The canonical spelling in which an account's address is stored and looked up; null when it is not an address. */
export function readEmail(text: string): string | null {
  const parsed = parseAddress(text);
  return parsed.ok ? parsed.address.normalised : null;
}

/** The same for the field `email` of a body. @throws AppError `validation_failed` */
export function requireEmail(text: string): string {
  const email = readEmail(text);
  if (email !== null) return email;
  const message = "must be an address such as someone@example.com";
  throw new AppError("validation_failed", `email (body) ${message}.`, {
    errors: [{ path: "email", message }],
  });
}
