import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { closedLoopScript, inTurn, readNativeRun } from "../../../bench/native-load.ts";
import { coresOf } from "../../../bench/pin.ts";

describe("the script of the native load generator", () => {
  it("holds each request as it goes on the wire, whatever it consists of, and goes round", () => {
    const lua = inTurn(['GET /?a="\\ HTTP/1.1\r\nHost: x\r\n\r\n', "second"]);
    assert.ok(
      lua.startsWith(
        'local requests = {\n  "GET /?a=\\"\\\\ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n",\n  "second",\n}\n',
      ),
    );
    assert.ok(lua.includes("at = at % 2 + 1"));
  });

  it("is told where to ask and how long", () => {
    const script = closedLoopScript({ port: 8080, connections: 256, forMs: 1_500 }, inTurn(["a"]));
    assert.ok(script.startsWith("local port, connections, forS = 8080, 256, 1.5\nlocal requests"));
  });

  it("has what it counted read from among what wrk says", () => {
    const said = 'LuaJIT\n\n{"answered":12,"wallMs":1000.250}\n';
    assert.deepEqual(readNativeRun(said), { answered: 12, wallMs: 1000.25 });
    assert.throws(() => readNativeRun("unable to connect"), /did not say what it counted/);
  });
});

describe("the cores of a process", () => {
  it("are read from taskset's list", () => {
    assert.deepEqual(coresOf("0,1"), [0, 1]);
    assert.deepEqual(coresOf("2-4,8"), [2, 3, 4, 8]);
    assert.deepEqual(coresOf("5"), [5]);
  });
});
