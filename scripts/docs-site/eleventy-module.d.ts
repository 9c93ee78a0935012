// What is used of Eleventy, which has no types of its own.
declare module "@11ty/eleventy" {
  export default class Eleventy {
    constructor(input: string, output: string, options: { configPath: string; quietMode: boolean });
    write(): Promise<unknown>;
  }
}
