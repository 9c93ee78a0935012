import packageFile from "../../package.json" with { type: "json" };

/** Of this project, as its package has it. */
export const VERSION: string = packageFile.version;
