// T23: why the start failed is told without a piece of the database's address, whatever the driver makes of it.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { databaseTrouble } from '../src/database-trouble.ts';
import { OwnError, ProxyError } from '../src/shared/errors.ts';
import { createLogger } from '../src/shared/logger.ts';
import { migrate } from '../src/store/migrate.ts';

const PASSWORD = 'canary-pass-9b2e';
const PIECES = ['canary', 'user-8c1d', 'base-5f7a'];

const troubleAt = async (url: string): Promise<string> =>
  databaseTrouble(
    await migrate(url, createLogger('silent')).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );

function urlWith(change: (url: URL) => void): string {
  const url = new URL(inject('postgresUrl'));
  change(url);
  return url.href;
}

describe('why the database cannot be used', () => {
  it('is told in words that say what to look at', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    const login = `user-8c1d:${PASSWORD}`;
    const told = {
      password: await troubleAt(urlWith((url) => (url.password = PASSWORD))),
      user: await troubleAt(urlWith((url) => ([url.username, url.password] = ['user-8c1d', PASSWORD]))),
      base: await troubleAt(urlWith((url) => (url.pathname = '/base-5f7a'))),
      closed: await troubleAt(`postgres://${login}@127.0.0.1:${port}/base-5f7a`),
      tls: await troubleAt(urlWith((url) => (url.search = '?sslmode=require'))),
      garbled: await troubleAt(`postgres://${login}@[canary/base-5f7a`),
      escape: await troubleAt(`postgres://${login}%zz@127.0.0.1:${port}/base-5f7a`),
      certificate: await troubleAt(`postgres://${login}@127.0.0.1:${port}/base-5f7a?sslrootcert=/canary/root.crt`),
    };
    expect(told).toMatchObject({
      password: 'it does not accept the user or the password (28P01)',
      user: 'it does not accept the user or the password (28P01)',
      base: 'there is no database of that name (3D000)',
      closed: 'nothing listens at its address (ECONNREFUSED)',
      tls: 'it does not speak TLS, which its address asks for',
      garbled: 'its address is not a URL (ERR_INVALID_URL)',
      certificate: 'its socket, or a certificate named in the address, is not there (ENOENT)',
    });
    for (const piece of PIECES) expect(JSON.stringify(told)).not.toContain(piece);
  });

  it.each([
    [new OwnError('it lacks 0001.sql'), 'it lacks 0001.sql'],
    [
      new ProxyError('overloaded', 'The database does not answer at the moment.', {
        cause: Object.assign(new Error(PASSWORD), { code: 'ECONNRESET' }),
      }),
      'it closed the connection (ECONNRESET)',
    ],
    [Object.assign(new Error(PASSWORD), { code: 'XX000' }), 'it cannot be asked (XX000)'],
    [Object.assign(new Error(PASSWORD), { code: `E ${PASSWORD}` }), 'it does not answer as PostgreSQL does, or'],
    [new Error('timeout expired'), 'it does not answer'],
    [new Error(PASSWORD), 'it does not answer as PostgreSQL does, or'],
    [PASSWORD, 'it cannot be asked'],
  ])('of %o is in our words', (error, words) => {
    expect(databaseTrouble(error)).toContain(words);
    expect(databaseTrouble(error)).not.toContain(PASSWORD);
  });
});
