import { parseArgs } from "node:util";

const TESTS_DEFAULT = "test/unit";

export interface ImageOptions {
  trixie: boolean;
  /** Paths for the test stage, by spaces; "": all. */
  tests: string;
  /** The only thing to be done; null: the image is built and shown. */
  only: "test" | "bench" | null;
  /** By spaces. */
  benchArgs: string;
}

/** @throws Error one line that says what is wrong */
export function readImageOptions(args: string[]): ImageOptions {
  const [first, ...rest] = args;
  if (first === "--test") return { trixie: true, tests: rest.join(" "), only: "test", benchArgs: "" };
  if (first === "--bench") return { trixie: true, tests: "", only: "bench", benchArgs: rest.join(" ") };
  const { values } = parseArgs({
    args,
    options: {
      trixie: { type: "boolean", default: false },
      tests: { type: "string", default: TESTS_DEFAULT },
      "all-tests": { type: "boolean", default: false },
    },
  });
  const tests = values["all-tests"] ? "" : values.tests.replaceAll(",", " ");
  return { trixie: values.trixie, tests, only: null, benchArgs: "" };
}
