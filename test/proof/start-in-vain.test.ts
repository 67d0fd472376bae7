// A start that cannot succeed ends by itself, soon, with one line that says what to do, and with no secret in it (T23).
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { foundIn } from '../support/written-forms.ts';
import {
  type FailedStart,
  type FalseDatabase,
  falseDatabase,
  letsInAndFallsSilent,
  startInVain,
} from './failed-start.ts';
import { buildProduct, startProduct } from './product.ts';

const PASSWORD = 'canary-pass-9b2e';
const SECRETS = { password: PASSWORD, master: randomBytes(32).toString('base64'), admin: 'kba_canary-admin-77c1' };
const KEYS = { KEYBEARER_MASTER_KEY: SECRETS.master, KEYBEARER_ADMIN_KEY: SECRETS.admin };
const ROLES = {
  stranger: `stranger_${randomBytes(4).toString('hex')}`,
  member: `member_${randomBytes(4).toString('hex')}`,
};

let directory = '';
let empty: TestDatabase;
const opened: FalseDatabase[] = [];

beforeAll(async () => {
  await buildProduct();
  directory = await mkdtemp(join(tmpdir(), 'keybearer-vain-'));
  // Under root the database runs as another user, who has to get through.
  await chmod(directory, 0o711);
  empty = await createEmptyDatabase();
  await asOwner(`CREATE ROLE ${ROLES.stranger} LOGIN PASSWORD '${PASSWORD}'`);
  await asOwner(`CREATE ROLE ${ROLES.member} LOGIN PASSWORD '${PASSWORD}' IN ROLE keybearer_app`);
}, 120_000);
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
afterAll(async () => {
  await empty.close();
  for (const role of Object.values(ROLES)) await asOwner(`DROP ROLE ${role}`);
  await rm(directory, { recursive: true, force: true });
});

async function asOwner(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

function addressWith(change: (url: URL) => void): string {
  const url = new URL(empty.url);
  url.password = PASSWORD;
  change(url);
  return url.href;
}

const as = (role: string): string => addressWith((url) => (url.username = role));

async function falseAddress(onSocket: Parameters<typeof falseDatabase>[0]): Promise<string> {
  const database = await falseDatabase(onSocket);
  opened.push(database);
  return `postgres://user:${PASSWORD}@127.0.0.1:${database.port}/base`;
}

async function addressOfNobody(): Promise<string> {
  const database = await falseDatabase(() => {});
  await database.close();
  return `postgres://user:${PASSWORD}@127.0.0.1:${database.port}/base`;
}

/** Refused, in one line, and no secret anywhere. */
function expectRefusal({ code, told, logged }: FailedStart, words: string): void {
  expect(told).toMatch(/^(?:The database cannot be used|Keybearer could not start): /);
  expect(told).toContain(words);
  expect(told.trim().split('\n'), 'one line').toHaveLength(1);
  expect(code).toBe(1);
  expect(foundIn(told + logged, SECRETS)).toEqual([]);
}

const CASES: readonly (readonly [what: string, address: () => Promise<string>, words: string])[] = [
  ['a wrong password', async () => addressWith(() => {}), 'it does not accept the user or the password (28P01)'],
  ['a user that is not there', async () => as('nobody-8c1d'), 'it does not accept the user or the password (28P01)'],
  [
    'no password',
    async () => addressWith((url) => (url.password = '')),
    'it wants a password, and its address has none',
  ],
  [
    'a database that is not there',
    async () => addressWith((url) => ([url.password, url.pathname] = [new URL(empty.url).password, '/base-5f7a'])),
    'there is no database of that name (3D000)',
  ],
  ['nobody at its address', addressOfNobody, 'nothing listens at its address (ECONNREFUSED)'],
  ['somebody who hangs up', () => falseAddress((socket) => socket.destroy()), 'it closed the connection'],
  ['a host that does not answer', () => falseAddress(() => {}), 'it does not answer'],
  ['one that lets in and falls silent', () => falseAddress(letsInAndFallsSilent), 'it does not answer'],
  ['a user without the role', async () => as(ROLES.stranger), `run: GRANT keybearer_app TO "${ROLES.stranger}";`],
  ['a user without a right', async () => as(ROLES.member), `GRANT CREATE ON SCHEMA public TO "${ROLES.member}";`],
];

describe('with a database that cannot be used', () => {
  it.each(CASES)(
    '%s ends it within 20 s',
    async (_, address, words) => {
      const environment = { DATABASE_URL: await address(), ...KEYS };
      const starts = ['serve', 'migrate'].map((command) => startInVain(environment, { command, withinMs: 20_000 }));
      for (const start of await Promise.all(starts)) expectRefusal(start, words);
    },
    30_000,
  );
});

describe('with settings that cannot be', () => {
  it('an address where a path belongs is not repeated', async () => {
    const misplaced = `postgres://user:${PASSWORD}@db.example/base`;
    const start = await startInVain({ KEYBEARER_DATA_DIR: misplaced, KEYBEARER_CONFIG: misplaced });
    expect(start.code).toBe(1);
    expect(start.told).toContain('KEYBEARER_DATA_DIR must be a directory, not an address');
    expect(foundIn(start.told + start.logged, SECRETS)).toEqual([]);
  });

  it('a file that is not there is named by its variable, for its name may be a key', async () => {
    const start = await startInVain({ KEYBEARER_CONFIG: SECRETS.master, KEYBEARER_DATA_DIR: join(directory, 'none') });
    expect(start).toMatchObject({
      code: 1,
      told: expect.stringContaining('KEYBEARER_CONFIG $: the file cannot be read (ENOENT)'),
    });
    expect(foundIn(start.told + start.logged, SECRETS)).toEqual([]);
  });

  it('a host that is none of this machine is said to be that', async () => {
    const start = await startInVain({
      ...KEYS,
      DATABASE_URL: await addressOfNobody(),
      HOST: '203.0.113.9',
      PORT: '4444',
    });
    expectRefusal(start, 'Keybearer could not start: HOST is no address of this machine');
  });
});

describe('with an embedded database', () => {
  it('a lost password or a spoilt key is told, and the database that was started for it is stopped', async () => {
    const dataDir = join(directory, 'data');
    const product = await startProduct({ KEYBEARER_DATA_DIR: dataDir });
    await product.end('SIGTERM');
    const note = join(dataDir, 'postgres', 'pgdata', 'postmaster.pid');
    const file = join(dataDir, 'postgres.password');
    const right = await readFile(file, 'utf8');
    await writeFile(file, `${PASSWORD}\n`);
    const locked = await startInVain({ KEYBEARER_DATA_DIR: dataDir });
    expect(existsSync(note), 'it runs on').toBe(false);
    await writeFile(file, right);
    await rm(join(dataDir, 'master.key'));
    await writeFile(join(dataDir, 'master.key'), `${SECRETS.master}cut`);
    const spoilt = await startInVain({ KEYBEARER_DATA_DIR: dataDir });
    await rm(join(dataDir, 'master.key'));
    await mkdir(join(dataDir, 'master.key'));
    const odd = await startInVain({ KEYBEARER_DATA_DIR: dataDir });
    expect(existsSync(note), 'it runs on').toBe(false);
    for (const [{ code, told, logged }, words] of [
      [locked, 'The embedded database does not take the password in postgres.password.'],
      [spoilt, 'master.key does not hold: Master key 1 is not 32 bytes in base64.'],
      [odd, 'Something in KEYBEARER_DATA_DIR'],
    ] as const) {
      expect(told.replace('Starting the embedded PostgreSQL…\n', '')).toMatch(/^Keybearer could not start: .+\n$/);
      expect(told).toContain(words);
      expect(code).toBe(1);
      expect(foundIn(told + logged, { ...SECRETS, right: right.trim() })).toEqual([]);
    }
  }, 90_000);
});

describe('with the data directory of another', () => {
  it('a second instance is refused and named why, and the first goes on', async () => {
    const dataDir = join(directory, 'shared');
    const product = await startProduct({ KEYBEARER_DATA_DIR: dataDir });
    try {
      const second = await startInVain({ KEYBEARER_DATA_DIR: dataDir });
      expect(second.told.replace('Starting the embedded PostgreSQL…\n', '')).toMatch(
        /^Keybearer could not start: Another Keybearer runs with this data directory, .+\n$/,
      );
      expect(second.code).toBe(1);
      expect((await fetch(`${product.url}/readyz`)).status).toBe(200);
      // What runs beside it for a moment may: it serves nobody.
      expect((await startInVain({ KEYBEARER_DATA_DIR: dataDir }, { command: 'migrate' })).code).toBe(0);
    } finally {
      await product.end('SIGTERM');
    }
  }, 60_000);

  it('one that takes over from a killed instance is not', async () => {
    const dataDir = join(directory, 'killed');
    const first = await startProduct({ KEYBEARER_DATA_DIR: dataDir });
    await first.end('SIGKILL');
    await (await startProduct({ KEYBEARER_DATA_DIR: dataDir })).end('SIGTERM');
  }, 60_000);
});

describe('without the master key of what is stored', () => {
  it('no other is made in its place, and the start says where it was expected', async () => {
    const dataDir = join(directory, 'keyless');
    const file = join(dataDir, 'master.key');
    const sealed = await startProduct({ KEYBEARER_DATA_DIR: dataDir });
    const adminKey = (await readFile(join(dataDir, 'admin.key'), 'utf8')).trim();
    const put = await fetch(`${sealed.url}/admin/v1/tenants/default/servers/secret`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'https://mcp.example.com/mcp', headers: { 'x-team': 'core' }, enabled: false }),
    });
    expect(put.status).toBe(200);
    await sealed.end('SIGTERM');
    const key = await readFile(file, 'utf8');
    await rm(file);
    for (const command of ['serve', 'migrate']) {
      const { code, told } = await startInVain({ KEYBEARER_DATA_DIR: dataDir }, { command });
      expect(told).toContain(`Keybearer could not start: ${file} is not there, and what is stored`);
      expect([code, existsSync(file)]).toEqual([1, false]);
    }
    await writeFile(file, key, { mode: 0o600 });
    await (await startProduct({ KEYBEARER_DATA_DIR: dataDir })).end('SIGTERM');
  }, 90_000);
});

describe('with an error that nobody foresaw', () => {
  it('says where it was, and not what a library says of it', async () => {
    const thrower = `const wait = setInterval(() => {
      if (process.listenerCount('uncaughtException') === 0) return;
      clearInterval(wait);
      throw Object.assign(new Error('${PASSWORD}'), { key: '${SECRETS.admin}', cause: new Error('${SECRETS.master}') });
    }, 5)`;
    const start = await startInVain(
      { DATABASE_URL: await falseAddress(() => {}), ...KEYS },
      { node: ['--import', `data:text/javascript,${encodeURIComponent(thrower)}`] },
    );
    expect(start).toMatchObject({ code: 1, told: '' });
    expect(start.logged).toContain('"msg":"ended by an error that nobody caught"');
    expect(foundIn(start.logged, SECRETS)).toEqual([]);
  });
});
