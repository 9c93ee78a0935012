// npm run house: prints how many lines, long functions and large folders the code has, each beside its upper bound (the
// column "bar"), and then lists the functions, names and folders that exceed one.
import { resolve } from "node:path";
import { figureTable } from "../bench/report/table.ts";
import { CODE_FOLDERS, countLines, filesIn, isCode, type Lines, readTexts } from "./layers/files.ts";
import { foldersOf, isProduct, isTooSmall, longFunctions, sharedExports } from "./layers/measures.ts";
import { parseSources } from "./layers/parse.ts";
import { FOLDER_FILES_MAX, FOLDER_FILES_MIN, FUNCTION_LINES_MAX } from "./layers/table.ts";

const ROOT = resolve(import.meta.dirname, "..");
const WORST_FUNCTIONS = 15;

const paths = filesIn(ROOT, CODE_FOLDERS);
const texts = readTexts(ROOT, paths);
const trees = parseSources(new Map([...texts].filter(([path]) => isCode(path) && !path.startsWith("test/"))));
const product = new Map([...trees].filter(([path]) => isProduct(path)));

const functions = longFunctions(trees);
const shared = sharedExports(product);
const folders = foldersOf(paths.filter((path) => !path.startsWith("test/"))).sort(
  (a, b) => b.files - a.files,
);
const productFolders = folders.filter(({ path }) => isProduct(`${path}/`));

function section(title: string, body: string): string {
  return `\n${title}\n\n${body || "none"}`;
}

function linesRow(name: string, bar: string, lines: Lines): (string | number)[] {
  const data = lines.data > 0 ? `, and ${lines.data.toLocaleString("en-US")} lines of data` : "";
  return [`${name}, lines of code`, lines.code, bar, `${lines.files} files${data}`];
}

const printed: string[] = [];
const inProduct = functions.filter(({ path }) => isProduct(path)).length;
const [largest] = productFolders;
printed.push(
  figureTable(
    ["", "today", "bar", ""],
    [
      linesRow("src + workers", "≤ 58,000", countLines(texts, ["src", "workers"])),
      linesRow("test", "≤ 72,000", countLines(texts, ["test"])),
      linesRow("scripts + bench", "≤ 22,000", countLines(texts, ["scripts", "bench"])),
      linesRow("packages", "≤ 2,000", countLines(texts, ["packages"])),
      linesRow("portal", "–", countLines(texts, ["portal"])),
      [
        `functions over ${FUNCTION_LINES_MAX} lines, nested ones counted`,
        inProduct,
        "0",
        `in src + workers; ${functions.length - inProduct} more in scripts + bench + packages + portal`,
      ],
      ["exported names with two meanings", shared.size, "0", "declared by two files of src + workers"],
      ["largest folder, files", largest?.files ?? 0, `${FOLDER_FILES_MAX}`, largest?.path ?? ""],
    ],
  ),
);
printed.push(
  "\nNot counted here: the files that a cache miss passes (≤ 18) and those that a new field of evidence touches (1 and its\n" +
    "test) are told by review, the minutes of the suite (≤ 8) by npm test, the bench's lines by npm run bench.",
);

const worst = functions
  .slice(0, WORST_FUNCTIONS)
  .map(({ path, name, line, lines }) => [name, lines, `${path}:${line}`] as const);
printed.push(section("Longest functions", worst.length > 0 ? figureTable(["", "lines", ""], worst) : ""));
printed.push(
  section(
    "Exported names that two or more files declare",
    [...shared].map(([name, files]) => `${name}: ${files.join(", ")}`).join("\n"),
  ),
);
const outside = folders.filter((folder) => folder.files > FOLDER_FILES_MAX || isTooSmall(folder));
printed.push(
  section(
    `Folders with more than ${FOLDER_FILES_MAX} or fewer than ${FOLDER_FILES_MIN} files`,
    outside.map(({ path, files }) => `${path}: ${files}`).join("\n"),
  ),
);
// In one write, so that a reader that closes the pipe early (`| head`) does not make it fail.
console.log(printed.join("\n"));
