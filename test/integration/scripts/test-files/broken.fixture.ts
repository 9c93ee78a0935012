// A file that cannot be loaded.
throw new Error("it cannot be loaded");
