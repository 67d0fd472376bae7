// Why a server cannot be reached, for admins: the class of what really happened at the door, and no address.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { causeWords, withCause } from '../../src/shared/cause-words.ts';
import { createPolicy } from '../../src/upstream/egress/policy.ts';
import { bareCause } from '../../src/upstream/oauth/errors.ts';
import { LOOPBACK_ALLOWED } from '../support/a-door.ts';
import { ExchangeBench, refusal } from './an-exchange.ts';

const SENTENCE = 'The server cannot be reached.';
const pem = (name: string): string => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url), 'utf8');

let bench: ExchangeBench;
let secure: Server | undefined;
beforeEach(() => {
  bench = new ExchangeBench();
});
afterEach(async () => {
  await bench.close();
  await new Promise((resolve) => (secure === undefined ? resolve(undefined) : secure.close(resolve)));
  secure = undefined;
});

async function servesTls(): Promise<string> {
  const server = (secure = createServer({ key: pem('key'), cert: pem('cert') }, (_req, res) => res.end()));
  server.on('tlsClientError', () => undefined);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function said(origin: string): Promise<string> {
  const error = (await refusal(bench.ask(origin))) as Error;
  expect(error.message).toBe(SENTENCE);
  const full = withCause(error.message, error);
  expect(full).not.toMatch(/127\.0\.0\.1|::1|\d{4}/);
  return full;
}

describe('the reason for admins', () => {
  it('is that nobody listens there', async () => {
    const origin = await bench.serve(() => undefined);
    await bench.server?.close();
    expect(await said(origin)).toBe('The server cannot be reached: connection refused.');
  });

  it('is that https was asked of a server without TLS', async () => {
    const origin = await bench.serve((_req, res) => res.end());
    expect(await said(origin.replace('http:', 'https:'))).toBe(
      'The server cannot be reached: no TLS there; its URL may have to begin with http:.',
    );
  });

  it('is that the name does not resolve', async () => {
    const failure = Object.assign(new Error('queryA ENOTFOUND no-such-host.example'), { code: 'ENOTFOUND' });
    bench.dispatcher = bench.opened({ resolve: () => Promise.reject(failure) });
    expect(await said('https://no-such-host.example')).toBe('The server cannot be reached: its name does not resolve.');
  });

  it('is that the certificate is of another name', async () => {
    const origin = await servesTls();
    bench.dispatcher = bench.opened({ ca: pem('ca') });
    expect(await said(origin)).toBe('The server cannot be reached: its certificate is of another name.');
  });

  it('is that nobody who is trusted signed the certificate', async () => {
    const origin = await servesTls();
    expect(await said(origin)).toBe('The server cannot be reached: nobody who is trusted here signed its certificate.');
  });

  it('is the address rule, which says so itself', async () => {
    const origin = await bench.serve((_req, res) => res.end());
    bench.dispatcher = bench.opened({ policy: createPolicy({ ...LOOPBACK_ALLOWED, allow: [] }) });
    const error = (await refusal(bench.ask(origin))) as Error;
    expect(withCause(error.message, error)).toBe(error.message);
  });

  it.each([
    ['CERT_HAS_EXPIRED', 'its certificate has expired'],
    ['ETIMEDOUT', 'connecting timed out'],
    ['ECONNRESET', 'the connection was reset'],
    ['ERR_SSL_TLSV1_ALERT_HANDSHAKE_FAILURE', 'the TLS handshake failed'],
    ['ESOMETHING_NEW', undefined],
  ])('of %s is: %s', (code, words) => {
    const failure = Object.assign(new Error('10.0.0.7:443 said something'), { code });
    const wrapped = new Error('outer', { cause: new TypeError('fetch failed', { cause: failure }) });
    expect(causeWords(wrapped)).toBe(words);
    expect(causeWords(bareCause(wrapped.cause)), 'also where no more than the code was kept').toBe(words);
  });

  it('is found in bounded time among causes that go round', () => {
    const circle = new Error('a');
    circle.cause = circle;
    expect(causeWords(circle)).toBeUndefined();
    expect(withCause(SENTENCE, circle)).toBe(SENTENCE);
  });
});
