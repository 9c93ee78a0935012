import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page's policy forbids everything inline and every other host: files are files, never data within others. */
export default defineConfig({
  // Files are found beside each other, below whatever path the portal is served at.
  base: "./",
  plugins: [react()],
  build: {
    assetsInlineLimit: 0,
    // One file: those of single pages could fail on their own, and the browser would not ask for them again.
    cssCodeSplit: false,
    // What the licences of the packages ask for goes with the files.
    license: { fileName: "licenses.md" },
    target: "es2023",
    modulePreload: { polyfill: false },
  },
  server: {
    // `npm run dev -w portal` beside a running `npm start`: RCPT_URL is where that listens.
    proxy: Object.fromEntries(
      ["/v1", "/docs", "/openapi.json"].map((path) => [
        path,
        process.env.RCPT_URL ?? "http://127.0.0.1:8080",
      ]),
    ),
  },
});
