import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** How a client in one language is generated, compiled and called. */
export interface Language {
  name: string;
  generator: string;
  /** A command that succeeds where the language's tools are installed. */
  needs: readonly string[];
  /** By name, in the folder where the steps run; openapi.json is there too. */
  files: Record<string, string>;
  /** Commands, one after the other; the last one prints what the program got. */
  steps: readonly (readonly string[])[];
}

/** Expected output of every program: the test key gives the same answer to each. */
export const EXPECTED = {
  verdict: "valid",
  takes_mail: true,
  source: "inline",
  jobs: 2,
  days: 7,
  code: "unauthorized",
};

const ROOT = resolve(import.meta.dirname, "../..");
const program = (name: string) => readFileSync(join(import.meta.dirname, "programs", name), "utf8");
const installed = (name: string) => join(ROOT, "node_modules/.bin", name);

const SWAGGER_TYPESCRIPT_API = "swagger-typescript-api@13.13.0";
const OPENAPI_PYTHON_CLIENT = "openapi-python-client==0.29.1";
const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";

const TYPESCRIPT: Language = {
  name: "typescript",
  generator: SWAGGER_TYPESCRIPT_API,
  needs: ["npm", "--version"],
  files: {
    "package.json": JSON.stringify({ private: true, type: "module" }),
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: "nodenext",
        target: "es2022",
        lib: ["es2023", "dom", "dom.iterable"],
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        typeRoots: [join(ROOT, "node_modules/@types")],
        types: ["node"],
      },
      files: ["call.ts"],
    }),
    "call.ts": program("call.ts"),
  },
  steps: [
    ["npm", "install", "--no-audit", "--no-fund", SWAGGER_TYPESCRIPT_API],
    ["npx", "swagger-typescript-api", "generate", "-p", "openapi.json", "-o", ".", "-n", "api.ts"],
    [installed("tsc")],
    [installed("tsx"), "call.ts"],
  ],
};

const PYTHON: Language = {
  name: "python",
  generator: OPENAPI_PYTHON_CLIENT,
  needs: ["python3", "-m", "venv", "--help"],
  files: {
    "call.py": program("call.py"),
    // Or it calls a formatter, which need not be there.
    "config.yml": "post_hooks: []\n",
  },
  steps: [
    ["python3", "-m", "venv", "venv"],
    ["venv/bin/pip", "install", "--quiet", OPENAPI_PYTHON_CLIENT, "mypy==1.19.0"],
    [
      ...["venv/bin/openapi-python-client", "generate", "--path", "openapi.json", "--config", "config.yml"],
      ...["--meta", "none", "--output-path", "rcpt_client", "--fail-on-warning"],
    ],
    ["venv/bin/mypy", "call.py"],
    ["venv/bin/python", "call.py"],
  ],
};

const GO: Language = {
  name: "go",
  generator: OAPI_CODEGEN,
  needs: ["go", "version"],
  files: { "main.go": program("call.go"), "go.mod": "module example.com/call\n\ngo 1.24\n" },
  steps: [
    ["mkdir", "api"],
    [
      ...["go", "run", OAPI_CODEGEN, "-generate", "types,client,skip-prune", "-package", "api"],
      ...["-o", "api/api.go", "openapi.json"],
    ],
    ["go", "mod", "tidy"],
    ["go", "vet", "./..."],
    ["go", "run", "."],
  ],
};

export const LANGUAGES: readonly Language[] = [TYPESCRIPT, PYTHON, GO];
