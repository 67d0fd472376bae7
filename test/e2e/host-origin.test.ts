// T17: who is asked for, and from where, is looked at before anything else of a request: each odd spelling of
// Host and Origin, on every kind of route, with a body that never comes.
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { useScene } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene({ http: { allowedOrigins: ['https://app.example'], allowedHosts: ['mcp.example'] } });

const port = (): string => new URL(scene.app.url).port;

/** Sends this text and nothing more; gives what had come back when the head of an answer was there. */
function answerTo(text: string): Promise<string> {
  const socket = connect(Number(port()), '127.0.0.1');
  const answer = new Promise<string>((resolve, reject) => {
    let all = '';
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1');
      if (/\r\n\r\n/.test(all)) resolve(all);
    });
    socket.on('error', reject).on('close', () => resolve(all));
    socket.write(text);
  });
  // Far less than the thirty seconds that a body may take.
  return within(answer, `an answer to ${JSON.stringify(text.slice(0, 120))}`, 5_000).finally(() => socket.destroy());
}

/** A head that announces a body of a megabyte, which never comes. */
const promise = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, ...headers, 'Content-Type: application/json', 'Content-Length: 1000000', '', ''].join('\r\n');

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);

/** One of each kind: MCP, the admin API, the pages, metadata. */
const ROUTES = [
  '/mcp',
  '/mcp/s',
  '/t/acme/mcp',
  '/admin/v1/tenants',
  '/connect/handoff',
  '/oauth/callback/x',
  '/healthz',
];

const FOREIGN_HOSTS = [
  'evil.test',
  'localhost.evil.test',
  'localhost.evil.test:80',
  '127.0.0.1.evil.test',
  'evil-localhost',
  'xlocalhost',
  'localhost.',
  'localhost.:80',
  '127.0.0.1.',
  'mcp.example.',
  'mcp.example.evil.test',
  'evil.mcp.example',
  'localhost:80:80',
  'localhost:x',
  'localhost@evil.test',
  'evil.test@localhost',
  'evil.test#localhost',
  'evil.test/localhost',
  'localhost,evil.test',
  'localhost evil.test',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0.0.0.0',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::1',
  '::1',
  '[::1].evil.test',
  '169.254.169.254',
  'ｌocalhost',
];

describe('Host', () => {
  it.each(ROUTES)('that is foreign is refused on %s before the body comes', async (path) => {
    for (const host of FOREIGN_HOSTS) {
      const answer = await answerTo(promise(`POST ${path}`, `Host: ${Buffer.from(host).toString('latin1')}`));
      expect(statusOf(answer), host).toBe(403);
      expect(answer.toLowerCase(), host).toContain('connection: close');
    }
  });

  it.each([
    'localhost',
    'LOCALHOST',
    'localhost:1',
    '127.0.0.1',
    '[::1]',
    '[::1]:65535',
    'mcp.example',
    'Mcp.Example:8443',
  ])('that is ours is served: %s', async (host) => {
    expect(statusOf(await answerTo(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`))).toBe(200);
    // Nobody is known yet, and the body did not come either.
    expect(statusOf(await answerTo(promise('POST /mcp', `Host: ${host}`)))).toBe(401);
  });

  it('is said once and only once', async () => {
    for (const headers of [
      [],
      ['Host:'],
      ['Host: localhost', 'Host: localhost'],
      ['Host: localhost', 'Host: evil.test'],
      ['Host: evil.test', 'HOST: localhost'],
    ]) {
      const answer = await answerTo(promise('POST /mcp', ...headers));
      expect([400, 403], JSON.stringify(headers)).toContain(statusOf(answer));
      expect(statusOf(answer) === 400, JSON.stringify(headers)).toBe(headers.length !== 1);
    }
  });

  it('in the request line goes before the header', async () => {
    for (const target of [
      'http://evil.test/mcp',
      'http://evil.test/healthz',
      'http://localhost.evil.test:80/mcp',
      'evil.test:80',
      'http://[::1/mcp',
    ])
      expect([400, 403], target).toContain(statusOf(await answerTo(promise(`POST ${target}`, 'Host: localhost'))));
    expect(statusOf(await answerTo(promise('POST http://localhost:1/mcp', 'Host: localhost')))).toBe(401);
    expect(statusOf(await answerTo('GET http://mcp.example/healthz?x HTTP/1.1\r\nHost: evil.test\r\n\r\n'))).toBe(200);
  });

  it('of a front is not believed, in whatever header it comes', async () => {
    const claims = ['X-Forwarded-Host', 'X-Host', 'X-Original-Host', 'X-Forwarded-Server', 'Forwarded'];
    for (const name of claims) {
      const value = name === 'Forwarded' ? 'host=mcp.example' : 'mcp.example';
      expect(statusOf(await answerTo(promise('POST /mcp', 'Host: evil.test', `${name}: ${value}`))), name).toBe(403);
      const foreign = value.replace('mcp.example', 'evil.test');
      const challenged = await answerTo(promise('POST /mcp', 'Host: localhost', `${name}: ${foreign}`));
      expect([statusOf(challenged), challenged.includes('evil.test')], name).toEqual([401, false]);
      const metadata = await answerTo(
        `GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: localhost\r\n${name}: ${foreign}\r\n\r\n`,
      );
      expect([statusOf(metadata), metadata.includes('evil.test')], name).toEqual([200, false]);
      expect(metadata).toContain(`"resource":"${scene.app.url}/mcp"`);
    }
  });
});

const FOREIGN_ORIGINS = [
  'https://evil.test',
  'null',
  'http://localhost.evil.test',
  'http://localhost.',
  'http://evil.test:80@localhost',
  'https://app.example.evil.test',
  'https://app.example.',
  'https://app.example:444',
  'http://app.example',
  'https://evil.test, https://app.example',
  'https://app.example https://evil.test',
  'file://',
  'chrome-extension://localhost',
  'localhost',
  'http://[::ffff:127.0.0.1]',
  'x',
  '*',
];

describe('Origin', () => {
  it.each(ROUTES)('that is foreign is refused on %s before the body comes', async (path) => {
    for (const origin of FOREIGN_ORIGINS) {
      // Forms of our own pages come without one; those pages judge them by more than this header.
      if (origin === 'null' && path.startsWith('/connect')) continue;
      const answer = await answerTo(promise(`POST ${path}`, 'Host: localhost', `Origin: ${origin}`));
      expect(statusOf(answer), origin).toBe(403);
      expect(answer.toLowerCase(), origin).not.toContain('access-control-allow-origin');
    }
  });

  it('twice is as good as foreign', async () => {
    const both = ['Origin: https://app.example', 'Origin: https://app.example'];
    expect(statusOf(await answerTo(promise('POST /mcp', 'Host: localhost', ...both)))).toBe(403);
  });

  it.each([
    'https://app.example',
    'HTTPS://APP.EXAMPLE',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:80',
  ])('that is allowed gets as far as the credential: %s', async (origin) => {
    const answer = await answerTo(promise('POST /mcp', 'Host: localhost', `Origin: ${origin}`));
    expect(statusOf(answer)).toBe(401);
  });
});

describe('a body that waits to be asked for', () => {
  it('is asked for only when Host and Origin are good', async () => {
    const refused = [
      ['Host: evil.test', 'Expect: 100-continue'],
      ['Host: localhost', 'Origin: https://evil.test', 'Expect: 100-continue'],
    ];
    for (const headers of refused) expect(statusOf(await answerTo(promise('POST /mcp', ...headers)))).toBe(403);
    expect(statusOf(await answerTo(promise('POST /mcp', 'Host: localhost', 'Expect: 100-continue')))).toBe(100);
  });
});
