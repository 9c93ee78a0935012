import type { SourceFile } from "typescript/unstable/ast";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API } from "typescript/unstable/sync";

const ROOT = "/project";
/** One project of exactly these files: nothing is resolved, so no import is followed and no library is loaded. */
const OPTIONS = {
  noResolve: true,
  noLib: true,
  types: [],
  allowJs: true,
  target: "esnext",
  module: "esnext",
};

/** Syntax trees by the paths of `sources`, made by the compiler that also checks the types. A syntax error throws. */
export function parseSources(sources: ReadonlyMap<string, string>): Map<string, SourceFile> {
  const files = Object.fromEntries([...sources].map(([path, text]) => [`${ROOT}/${path}`, text]));
  files[`${ROOT}/tsconfig.json`] = JSON.stringify({ compilerOptions: OPTIONS, files: [...sources.keys()] });
  const api = new API({ cwd: ROOT, fs: createVirtualFileSystem(files) });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [`${ROOT}/tsconfig.json`] });
    const program = snapshot.getProject(`${ROOT}/tsconfig.json`)?.program;
    const [error] = program?.getSyntacticDiagnostics() ?? [];
    if (error) throw new Error(`${error.fileName}: ${error.text}`);
    const trees = new Map<string, SourceFile>();
    for (const path of sources.keys()) {
      const tree = program?.getSourceFile(`${ROOT}/${path}`);
      if (!tree) throw new Error(`${path} could not be parsed`);
      trees.set(path, tree);
    }
    return trees;
  } finally {
    api.close();
  }
}
