/** A thread that dies before it has done anything. */
throw new Error("there is no room to begin in");
