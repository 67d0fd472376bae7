// The wire that watches all other tests is there and is felt.
import dns from 'node:dns';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeStrays } from '../support/tripwire.ts';

const server = net.createServer((socket) => socket.destroy());
let port = 0;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

/** Code as if it stood in that file of the product. */
const planted = (file: string, code: string): ((...args: unknown[]) => unknown) =>
  runInThisContext(`(${code})`, { filename: new URL(`../../src/${file}`, import.meta.url).pathname }) as never;

it.each<[string, string, readonly unknown[]]>([
  ['a socket', '(net, port) => net.connect(port, "127.0.0.1")', [net]],
  ['a socket of its own', '(net, port) => new net.Socket().connect(port, "127.0.0.1")', [net]],
  ['an http request', '(http, port) => http.request({ port })', [http]],
  ['a fetch', '(fetch, port) => fetch("http://127.0.0.1:" + port)', [globalThis.fetch]],
  ['a look-up', '(dns) => dns.lookup("localhost", () => undefined)', [dns]],
])('%s of the product past the doors is caught', (_, code, args) => {
  expect(() => planted('proxy/rogue.ts', code)(...args, port)).toThrow(/past the one way out/);
  expect(takeStrays()).toHaveLength(1);
});

it.each(['undici/lib/x.js', 'jose/dist/x.js', 'openid-client/build/x.js', 'oauth4webapi/build/x.js'])(
  'a fetch, a request and a socket of %s in a turn of its own are',
  async (file) => {
    const filename = new URL(`../../node_modules/${file}`, import.meta.url).pathname;
    // Started by a timer, so that no frame of whoever started it is left, and none of this test.
    const code = `((http, net, port, done) => setTimeout(() => {
      const dials = [() => fetch("http://127.0.0.1:" + port), () => http.request({ port }), () => net.connect(port, "127.0.0.1")];
      done(dials.map((dial) => { try { dial(); return "let through"; } catch (error) { return error.message; } }));
    }, 1))`;
    const start = runInThisContext(code, { filename }) as (...args: readonly unknown[]) => unknown;
    const said = await new Promise<readonly string[]>((resolve) => void start(http, net, port, resolve));
    const caught = expect.stringMatching(/past the one way out/);
    expect(said).toEqual([caught, caught, caught]);
    expect(takeStrays()).toHaveLength(3);
  },
);

it.each(['upstream/egress/dial.ts', 'store/database.ts'])('a socket from %s is not', (file) => {
  const socket = planted(file, '(net, port) => net.connect(port, "127.0.0.1")')(net, port) as net.Socket;
  socket.on('error', () => undefined).destroy();
  expect(takeStrays()).toEqual([]);
});

it('a socket of a test is not', () => {
  net
    .connect(port, '127.0.0.1')
    .on('error', () => undefined)
    .destroy();
  expect(takeStrays()).toEqual([]);
});
