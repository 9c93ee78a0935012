/** One complete SMTP reply (RFC 5321 §4.2), decoded as Latin-1 so that no byte is lost or invented. */
export interface Reply {
  code: number;
  /** RFC 3463 code from the first line that has one, e.g. `5.1.1`; its class always equals the code's first digit. */
  enhanced: string | null;
  /** Text of each line, without code and separator. */
  lines: string[];
}
