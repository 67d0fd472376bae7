// A server that calls cannot reach is seen, until it answers again, and the log holds out against a storm.
import { describe, expect, it } from 'vitest';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { EgressDeniedError, NotRunError, ProxyError } from '../../src/shared/errors.ts';
import { Bench, PERSONAL } from './a-catalog.ts';
import { ACME, ANNA, aCaller, aTool } from './a-tenant.ts';

const refused = (): Error => Object.assign(new Error('connect 10.1.2.3:443'), { code: 'ECONNREFUSED' });
const UNREACHABLE = new NotRunError('The server cannot be reached.', { cause: refused() });
const BROKE = new ProxyError('upstream_unavailable', 'said by the server to Anna alone');
const SLOW = new ProxyError('upstream_timeout', 'notes did not answer within 5 ms. The call may have run.');
const BUSY = new NotRunError('The server is receiving too many requests.', { mayRetryNow: false });

async function known(): Promise<{ bench: Bench; server: UpstreamServer }> {
  const bench = new Bench();
  bench.serve('notes', [aTool('a')], PERSONAL);
  bench.signedIn.add(`notes ${ANNA}`);
  await bench.tools();
  return { bench, server: await bench.server('notes') };
}

const said = ({ lines }: Bench, message: string) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message);

describe('a server whose tools are known', () => {
  it.each([
    [
      'cannot be reached',
      UNREACHABLE,
      'The server cannot be reached.',
      'The server cannot be reached: connection refused.',
    ],
    ['broke in the middle', BROKE, 'The connection to the server broke.', 'The connection to the server broke.'],
    [
      'answers 503',
      new ProxyError('upstream_unavailable', 'x', { data: { status: 503 } }),
      'The server answered with HTTP status 503.',
      'The server answered with HTTP status 503.',
    ],
    [
      'may not be reached from here',
      new EgressDeniedError('private_address', '10.1.2.3'),
      "The server's address may not be reached from here (private_address).",
      "The server's address may not be reached from here (private_address).",
    ],
  ])(
    'is cached while it %s, for agents in short and for admins in full, and ok after a good call',
    async (_what, error, short, full) => {
      const { bench, server } = await known();
      expect([await bench.states(), bench.catalog.status(ACME, 'notes').lastError]).toEqual([
        { notes: 'ok' },
        undefined,
      ]);
      bench.troubles.failed(server, error);
      expect(await bench.states()).toEqual({ notes: 'cached' });
      expect(await bench.states(aCaller(ANNA))).toEqual({ notes: 'cached' });
      expect(JSON.stringify((await bench.view()).page(undefined)?.modern.map(String))).toContain(short);
      const at = bench.clock.now();
      expect(bench.catalog.status(ACME, 'notes')).toMatchObject({
        state: 'cached',
        reason: full,
        lastError: { text: full, at },
      });
      bench.clock.advance(1_000);
      bench.troubles.worked(server);
      expect(await bench.states()).toEqual({ notes: 'ok' });
      // What was wrong can still be read, with its time.
      expect(bench.catalog.status(ACME, 'notes')).toMatchObject({
        state: 'ok',
        reason: undefined,
        lastError: { text: full, at },
      });
      expect(JSON.stringify(bench.catalog.status(ACME, 'notes'))).not.toContain('10.1.2.3');
    },
  );

  it('is ok with one slow call, and cached with the second in a row', async () => {
    const { bench, server } = await known();
    bench.troubles.failed(server, SLOW);
    expect(bench.catalog.status(ACME, 'notes')).toMatchObject({
      state: 'ok',
      lastError: { text: 'The server did not answer in time.' },
    });
    bench.troubles.worked(server);
    bench.troubles.failed(server, SLOW);
    expect(bench.catalog.status(ACME, 'notes').state).toBe('ok');
    bench.troubles.failed(server, SLOW);
    expect(bench.catalog.status(ACME, 'notes').state).toBe('cached');
  });

  it('is ok where it turned a call away, or where what went wrong was not its doing', async () => {
    const { bench, server } = await known();
    bench.troubles.failed(server, UNREACHABLE);
    bench.troubles.failed(server, BUSY);
    expect(bench.catalog.status(ACME, 'notes')).toMatchObject({ state: 'ok', lastError: { text: BUSY.message } });
    const before = bench.catalog.status(ACME, 'notes').lastError;
    for (const code of ['cancelled', 'overloaded', 'stopping', 'sign_in_required', 'internal'] as const)
      bench.troubles.failed(server, new ProxyError(code, 'x'));
    bench.troubles.failed(server, new Error('ours'));
    expect(bench.catalog.status(ACME, 'notes')).toMatchObject({ state: 'ok', lastError: before });
  });

  it('begins anew when it is edited, and a call of before changes nothing', async () => {
    const { bench, server } = await known();
    bench.troubles.failed(server, UNREACHABLE);
    bench.define('notes', { ...PERSONAL, title: 'Notes' });
    await bench.refresh();
    expect(bench.catalog.status(ACME, 'notes').lastError).toBeUndefined();
    bench.troubles.failed(server, UNREACHABLE);
    expect(bench.catalog.status(ACME, 'notes').lastError).toBeUndefined();
  });
});

describe('the log', () => {
  it('has one line for a storm of failures, one a minute while it lasts, and one when it is over', async () => {
    const { bench, server } = await known();
    for (let call = 0; call < 1_000; call++) bench.troubles.failed(server, UNREACHABLE);
    expect(said(bench, 'call failed')).toEqual([
      expect.objectContaining({
        level: 40,
        tenantId: ACME,
        server: 'notes',
        error: expect.objectContaining({ cause: expect.objectContaining({ code: 'ECONNREFUSED' }) }),
      }),
    ]);
    bench.clock.advance(60_000);
    bench.troubles.failed(server, UNREACHABLE);
    expect(said(bench, 'call failed')).toHaveLength(2);
    bench.troubles.worked(server);
    expect(said(bench, 'server answers again')).toMatchObject([{ server: 'notes', failures: 1_001 }]);
  });

  it('holds out against a server that comes and goes', async () => {
    const { bench, server } = await known();
    for (let call = 0; call < 1_000; call++) {
      bench.troubles.failed(server, BROKE);
      bench.troubles.worked(server);
    }
    expect(bench.lines.filter((line) => /call failed|answers again/.test(line))).toHaveLength(2);
    expect(bench.lines.join('')).not.toContain('10.1.2.3');
    expect(bench.doubted, 'and has it asked no more often').toEqual(['notes']);
  });
});
