/** An answer of S3 that is no success. `code` is S3's own name for it. */
export class S3Error extends Error {
  override name = "S3Error";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const noSuchKey = () => new S3Error(404, "NoSuchKey", "The specified key does not exist.");
export const noSuchUpload = () => new S3Error(404, "NoSuchUpload", "The specified upload does not exist.");
export const invalid = (message: string) => new S3Error(400, "InvalidArgument", message);
export const malformedXml = () => new S3Error(400, "MalformedXML", "The XML provided was not well-formed.");
export const notImplemented = (what: string) =>
  new S3Error(501, "NotImplemented", `The development server has no ${what}.`);
