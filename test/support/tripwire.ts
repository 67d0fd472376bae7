// Runs before every test file: whatever part of the product opens a socket, or looks a name up, other than
// through the one way out (or to PostgreSQL) fails that file. What only tests do is no matter here.
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { afterAll, expect } from 'vitest';

const PRODUCT = new URL('../../src/', import.meta.url).pathname;
// The server that agents connect to looks up the address it listens on.
const DOORS = ['upstream/egress/', 'store/', 'agent/server.ts'].map((place) => PRODUCT + place);

/** What could dial for the product. The MCP SDK is none of them: the agents of the tests dial with it (docs/adr/0020). */
const LIBRARIES = ['undici', 'jose', 'openid-client', 'oauth4webapi'].map((name) => `/node_modules/${name}/`);

/** Gives the frame of the product that went past the doors, of a stack without this file's own; undefined when none did. */
function strayFrame(stack: string): string | undefined {
  const frames = stack.split('\n').map((line) => decodeURI(line));
  if (frames.some((frame) => DOORS.some((door) => frame.includes(door)))) return undefined;
  const own = frames.find((frame) => frame.includes(PRODUCT));
  // A library in a turn of its own, behind which nobody stands any more: the product's, unless a test is at work.
  const library = frames.find((frame) => LIBRARIES.some((place) => frame.includes(place)));
  return own ?? (frames.some((frame) => frame.includes('/test/')) ? undefined : library);
}

const strays: string[] = [];

function guarded<F extends (...args: never[]) => unknown>(what: string, original: F): F {
  return function guard(this: unknown, ...args: Parameters<F>) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 100;
    const called = { stack: '' };
    // From the caller on: this file stands among the tests, and would speak for everybody.
    Error.captureStackTrace(called, guard);
    Error.stackTraceLimit = stackTraceLimit;
    const stray = strayFrame(called.stack);
    if (stray !== undefined) {
      strays.push(`${what} ${stray.trim()}`);
      throw new Error(`${what} past the one way out: ${stray.trim()}`);
    }
    return Reflect.apply(original, this, args);
  } as F;
}

// Node's fetch goes over whichever undici was loaded first. Its own, or what tests fetch would look like the package's.
new Headers();

net.Socket.prototype.connect = guarded('a socket', net.Socket.prototype.connect);
dns.lookup = guarded('a look-up', dns.lookup as never);
dns.promises.lookup = guarded('a look-up', dns.promises.lookup as never);
http.request = guarded('an http request', http.request as never);
https.request = guarded('an https request', https.request as never);
globalThis.fetch = guarded('a fetch', globalThis.fetch);
syncBuiltinESMExports();

/** Gives what was caught so far and forgets it; for the test of the wire itself. */
export const takeStrays = (): string[] => strays.splice(0);

afterAll(() => {
  expect(strays, 'sockets that were opened past the one way out').toEqual([]);
});
