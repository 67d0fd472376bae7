// T26: a body that is deep or wide is refused at once, in few words; nobody waits while it is looked through.
import { describe, expect, it } from 'vitest';
import { openAdminApi } from './an-admin-api.ts';

/** Of the looking alone: without the guards it is seconds. */
const QUICK_MS = 1_000;
const MAX_ANSWER = 20_000;

const ROUTES = [
  ['PATCH', '/tenants/acme'],
  ['POST', '/tenants'],
  ['PUT', '/tenants/acme/servers/notes'],
  ['POST', '/tenants/acme/keys'],
  ['POST', '/tenants/acme/issuers'],
  ['POST', '/tenants/acme/connect-links'],
] as const;

const members = (count: number, value = '1'): string =>
  Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join(',');
const items = (count: number): string => Array.from({ length: count }, () => '1').join(',');

const BODIES: Readonly<Record<string, string>> = {
  'of 200,000 levels': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
  'of 100,000 levels of objects': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  'of 85,000 members': `{${members(85_000)}}`,
  'of 500,000 items': `[${items(500_000)}]`,
  'with 80,000 members in one of its own': `{"url":"https://a.test","headers":{${members(80_000, '""')}}}`,
  'with 80,000 members two levels down': `{"url":"https://a.test","credential":{"oauth":{${members(80_000)}}}}`,
  'with 300,000 lists': `{"name":"x","scopes":[${'[],'.repeat(300_000)}[]]}`,
};

describe.each(ROUTES)('%s %s', (method, path) => {
  it.each(Object.entries(BODIES))('refuses a body %s with 400, soon and in few words', async (_, body) => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const before = performance.now();
    const reply = await api.send(method, path, body);
    const tookMs = performance.now() - before;
    expect([reply.status, reply.type]).toEqual([400, 'application/problem+json; charset=utf-8']);
    expect(reply.text.length).toBeLessThan(MAX_ANSWER);
    expect(tookMs).toBeLessThan(QUICK_MS);
  });

  it('refuses a million members before they are read', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    expect((await api.send(method, path, `{${members(1_000_000)}}`)).status).toBe(413);
  });

  it('names the first hundred of the members that are not known, and says how many there are', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const before = performance.now();
    const reply = await api.send(method, path, `{${members(4_900)}}`);
    expect(performance.now() - before).toBeLessThan(QUICK_MS);
    expect(reply.status).toBe(422);
    const { problems } = reply.json as { problems: readonly { path: string; message: string }[] };
    expect(problems).toContainEqual({ path: '$', message: 'has 4900 members that are not known' });
    expect(problems.filter(({ message }) => message.startsWith('is not known.'))).toHaveLength(100);
    expect(reply.text.length).toBeLessThan(MAX_ANSWER);
  });
});
