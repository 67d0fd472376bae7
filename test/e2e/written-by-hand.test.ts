// Rows that somebody wrote into the table by hand: taken where they hold, sealed, and otherwise nobody else's trouble.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';

const scene = useScene();

const insert = (tenant: string, name: string, definition: unknown) =>
  scene.app.sql('INSERT INTO servers (tenant_id, name, definition) VALUES ($1, $2, $3)', [
    tenant,
    name,
    JSON.stringify(definition),
  ]);

describe.each(RAW_KINDS)('for %s', (kind) => {
  it('a row is in force within a second; broken ones are named invalid and harm no other', async () => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant({ good: without(server) });
    const agent = await tenant.raw(kind);
    await agent.listTools();
    await insert(tenant.id, 'by-hand', { url: server.url });
    await eventually(
      'the row',
      async () => (await agent.listTools()).tools.some(({ name }) => name === 'by-hand__whoami'),
      1_000,
    );
    const broken = {
      'no-url': {},
      'a-list': [],
      'a-text': 'https://x.example',
      nothing: null,
      'bad-url': { url: 'file:///etc/passwd' },
      'a-command': { command: 'touch', args: ['/tmp/owned'] },
      'bad-limit': { url: server.url, timeoutMs: -1, maxResultBytes: 'many' },
      'bad-seal': { url: server.url, headers: { 'x-team': { sealed: 'AAAA' } } },
      Bad__Name: { url: server.url },
      keybearer: { url: server.url },
    };
    for (const [name, definition] of Object.entries(broken)) await insert(tenant.id, name, definition);
    const names = Object.keys(broken);
    const states = async () => objectAt(objectAt((await agent.listTools()).raw[0] ?? {}, '_meta'), 'keybearer/servers');
    await eventually('all to be named', async () => (await states())['keybearer'] !== undefined, 1_500);
    const now = await states();
    for (const name of names) expect(now[name], name).toMatchObject({ state: 'invalid', reason: expect.any(String) });
    expect(now['good']).toEqual({ state: 'ok' });
    const found = (await agent.listTools()).tools.map((tool) => tool.name);
    expect(found).toContain('good__whoami');
    expect(found.filter((name) => names.some((bad) => name.startsWith(`${bad}__`)))).toEqual([]);
    expect(await tenant.status('bad-limit')).toMatchObject({
      status: 'invalid',
      problems: [{ path: '$.timeoutMs' }, { path: '$.maxResultBytes' }],
    });
    await scene.app.sql('UPDATE servers SET definition = $3 WHERE tenant_id = $1 AND name = $2', [
      tenant.id,
      'no-url',
      JSON.stringify({ url: server.url }),
    ]);
    await eventually(
      'the corrected row',
      async () => (await agent.listTools()).tools.some(({ name }) => name === 'no-url__whoami'),
      1_000,
    );
  });

  it('literal secrets are sealed where they stand, and go on serving', async () => {
    const secret = 'canary-by-hand-51c2';
    const server = await scene.keyed('legacy', { keys: [[secret, 'team']], header: 'x-team', scheme: '' });
    const tenant = await scene.tenant();
    const agent = await tenant.raw(kind);
    await agent.listTools();
    await insert(tenant.id, 's', { url: server.url, headers: { 'x-team': secret } });
    await eventually(
      'the tools',
      async () => (await agent.listTools()).tools.some(({ name }) => name === 's__whoami'),
      1_500,
    );
    const row = () => scene.app.sql('SELECT definition::text AS text FROM servers WHERE tenant_id = $1', [tenant.id]);
    await eventually('the sealing', async () => !JSON.stringify(await row()).includes(secret), 1_500);
    expect(await agent.callTool('s__whoami')).toMatchObject({ structuredContent: { who: 'team' } });
    expect(JSON.stringify(await tenant.status('s'))).not.toContain(secret);
  });
});

it('a row sealed for one tenant does not open for another', async () => {
  const server = await scene.keyed('legacy', { keys: [['team-key', 'team']], header: 'x-team', scheme: '' });
  const tenant = await scene.tenant({ s: { url: server.url, headers: { 'x-team': 'team-key' } } });
  const thief = await scene.tenant();
  await scene.app.sql(
    'INSERT INTO servers (tenant_id, name, definition) SELECT $2, name, definition FROM servers WHERE tenant_id = $1',
    [tenant.id, thief.id],
  );
  await eventually(
    'the copy to be invalid',
    async () => (await scene.app.admin('GET', `/tenants/${thief.id}/servers/s`)).body['status'] === 'invalid',
    1_500,
  );
  expect(await (await tenant.raw('rawModern')).callTool('s__whoami')).toMatchObject({
    structuredContent: { who: 'team' },
  });
});
