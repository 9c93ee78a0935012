/** What a command prints: hand `stdout` and `stderr` to it, and read `printed` once it has ended. */
export function capturePrinted() {
  const printed = { stdout: "", stderr: "" };
  const into = (stream: keyof typeof printed) => (text: string) => {
    printed[stream] += text;
  };
  return { printed, stdout: into("stdout"), stderr: into("stderr") };
}
