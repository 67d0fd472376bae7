import { describe, expect, it } from 'vitest';
import type { ServerId } from '../../src/shared/id.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { type AdminApi, openAdminApi, problemsOf } from './an-admin-api.ts';

const CANARY = 'canary-header-3c';
const path = '/tenants/acme/servers';

async function putFileServer(api: AdminApi): Promise<void> {
  api.files.push({
    tenantId: aTenantId('acme'),
    id: 'file-1' as ServerId,
    name: 'github',
    definition: { command: '/bin/github', env: { TOKEN: CANARY } },
    enabled: true,
    revision: 'f1',
  });
  await api.deps.directory.refresh(aTenantId('acme'));
}

describe('servers', () => {
  it('are put as a bare definition and answered as stored, literal secrets covered', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const definition = {
      url: 'https://notes.example/mcp',
      title: 'Notes',
      headers: { 'X-Team': CANARY },
      credential: { kind: 'secret' },
    };
    const put = await api.send('PUT', `${path}/notes`, definition);
    expect(put.status).toBe(200);
    expect(put.json).toEqual({
      name: 'notes',
      revision: '1',
      enabled: true,
      source: 'table',
      status: 'pending',
      reason: null,
      toolCount: 0,
      lastError: null,
      lastErrorAt: null,
      definition: { ...definition, headers: { 'X-Team': { sealed: true } } },
    });
    expect((await api.send('GET', `${path}/notes`)).json).toEqual(put.json);
    expect((await api.send('GET', path)).json).toEqual({ items: [put.json] });
    expect(api.answers.join('')).not.toContain(CANARY);
    expect(JSON.stringify(api.rows)).not.toContain(CANARY);
  });

  it('keep a secret that is sent back as shown, but never at another address', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const definition = { url: 'https://notes.example/mcp', headers: { 'x-team': CANARY } };
    const shown = (await api.send('PUT', `${path}/notes`, definition)).json['definition'];
    expect((await api.send('PUT', `${path}/notes`, { ...(shown as object), title: 'N' })).json).toMatchObject({
      revision: '2',
    });
    const server = api.deps.directory.find(aTenantId('acme'), 'notes')?.server;
    expect(server?.transport.kind === 'http' && server.transport.headers.get('x-team')?.reveal()).toBe(CANARY);
    const moved = await api.send('PUT', `${path}/notes`, { ...(shown as object), url: 'https://evil.example/mcp' });
    expect([moved.status, problemsOf(moved)]).toEqual([422, ['$.headers.x-team']]);
    const fresh = await api.send('PUT', `${path}/other`, {
      url: 'https://notes.example/mcp',
      headers: { 'x-team': { sealed: true } },
    });
    expect([fresh.status, problemsOf(fresh)]).toEqual([422, ['$.headers.x-team']]);
  });

  it('are refused with every problem at once, and then nothing is stored or sealed', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    let sealed = 0;
    const { secretsOf } = api.deps.definitions;
    Object.assign(api.deps.definitions, {
      secretsOf: (...args: Parameters<typeof secretsOf>) => ({
        ...secretsOf(...args),
        seal: () => {
          sealed++;
          return Promise.resolve('');
        },
      }),
    });
    const reply = await api.send('PUT', `${path}/notes`, {
      url: 'ftp://x',
      headers: { 'x-a': CANARY },
      timeoutMs: -1,
      colour: 'red',
    });
    expect(reply.status).toBe(422);
    expect(problemsOf(reply).toSorted()).toEqual(['$.colour', '$.timeoutMs', '$.url']);
    expect(reply.text).not.toContain(CANARY);
    for (const name of ['keybearer', 'a__b', 'A'])
      expect((await api.send('PUT', `${path}/${name}`, { url: 'https://x.example' })).status).toBe(422);
    expect((await api.send('PUT', `${path}/notes`, [])).status).toBe(422);
    expect([api.rows, sealed]).toEqual([[], 0]);
  });

  it.each([
    { command: '/bin/sh', args: ['-c', 'id'] },
    { type: 'stdio', command: 'x' },
    { url: 'https://x.example', command: 'x' },
  ])('T29: no one registers a command here: %j', async (definition) => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    for (const options of [{}, { key }])
      expect((await api.send('PUT', `${path}/shell`, definition, options)).status).toBe(422);
    expect(api.rows).toEqual([]);
  });

  it("of the operator's file are shown, covered, and cannot be changed here", async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    await putFileServer(api);
    const shown = await api.send('GET', `${path}/github`);
    expect(shown.json).toMatchObject({
      source: 'file',
      definition: { command: '/bin/github', env: { TOKEN: { sealed: true } } },
    });
    expect((await api.send('PUT', `${path}/github`, { url: 'https://x.example' })).status).toBe(409);
    expect((await api.send('DELETE', `${path}/github`)).status).toBe(409);
    expect(api.answers.join('')).not.toContain(CANARY);
  });

  it('written badly by hand are listed as invalid, with every problem', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    api.rows.push({
      tenantId: aTenantId('acme'),
      id: 'x' as ServerId,
      name: 'bad',
      definition: { url: 7, headers: { 'x-a': CANARY } },
      enabled: true,
      revision: '9',
    });
    await api.deps.directory.refresh(aTenantId('acme'));
    const shown = await api.send('GET', `${path}/bad`);
    expect(shown.json).toMatchObject({
      status: 'invalid',
      lastError: 'does not hold',
      definition: { headers: { 'x-a': { sealed: true } } },
    });
    expect(problemsOf(shown)).toEqual(['$.url']);
    expect((await api.send('PUT', `${path}/bad/credential`, { secret: 'x' })).status).toBe(409);
  });

  it('are listed by pages, removed, and then not found', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    for (const name of ['c', 'a', 'b'])
      await api.send('PUT', `${path}/${name}`, { url: 'https://x.example', enabled: false });
    const first = await api.send('GET', `${path}?limit=2`);
    expect(first.json).toMatchObject({ items: [{ name: 'a', enabled: false }, { name: 'b' }] });
    expect((await api.send('GET', `${path}?limit=2&cursor=${String(first.json['nextCursor'])}`)).json).toMatchObject({
      items: [{ name: 'c' }],
    });
    expect((await api.send('DELETE', `${path}/a`)).status).toBe(204);
    expect((await api.send('DELETE', `${path}/a`)).status).toBe(404);
    expect((await api.send('GET', `${path}/a`)).status).toBe(404);
  });

  it('of another tenant under the same name stay as they are', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    await api.tenant('beta');
    await api.send('PUT', '/tenants/beta/servers/notes', { url: 'https://beta.example' });
    expect((await api.send('GET', `${path}/notes`, undefined, { key })).status).toBe(404);
    await api.send('PUT', `${path}/notes`, { url: 'https://acme.example' }, { key });
    await api.send('DELETE', `${path}/notes`, undefined, { key });
    expect((await api.send('GET', '/tenants/beta/servers/notes')).json).toMatchObject({
      definition: { url: 'https://beta.example' },
    });
  });
});
