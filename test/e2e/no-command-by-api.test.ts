// T29: whoever may write a command may run anything on the proxy's machine. The operator's file may; no
// route of the admin API and no row of the table may, in whatever way it is put.

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
const owned = join(tmpdir(), `owned-${randomUUID()}`);
afterEach(() => expect(existsSync(owned), 'a command ran').toBe(false));

/** `touch <file>` where a program could be meant, as raw JSON. URL stands for a server that answers. */
const RUN = `"command":"touch","args":["${owned}"]`;
const WAYS: Readonly<Record<string, string>> = {
  plainly: `{${RUN}}`,
  'with its type': `{"type":"stdio",${RUN}}`,
  'with a type in capitals': `{"type":"STDIO",${RUN}}`,
  'with a type of another kind': `{"type":"http","url":"URL",${RUN}}`,
  'beside an address': `{"url":"URL",${RUN}}`,
  'in capitals': `{"COMMAND":"touch","Args":["${owned}"]}`,
  'in capitals beside an address': `{"url":"URL","Command":"touch","ARGS":["${owned}"]}`,
  'with a blank': `{"url":"URL","command ":"touch"}`,
  'in escapes': `{"\\u0063ommand":"touch","\\u0061rgs":["${owned}"]}`,
  'as a list': `{"command":["touch","${owned}"]}`,
  'as a prototype': `{"url":"URL","__proto__":{"type":"stdio",${RUN}}}`,
  'as a prototype alone': `{"__proto__":{"type":"stdio",${RUN}}}`,
  'as a constructor': `{"url":"URL","constructor":{"prototype":{${RUN}}}}`,
  'twice, the last one real': `{"command":null,"url":"URL",${RUN}}`,
  'after an address that is taken back': `{"url":"URL","url":null,${RUN}}`,
  'by its type twice': `{"type":"http","type":"stdio",${RUN}}`,
  'as what is stored of a file': `{"source":"file","type":"stdio",${RUN}}`,
  'as a transport': `{"transport":{"kind":"stdio",${RUN}}}`,
  'as a transport beside an address': `{"url":"URL","transport":{"kind":"stdio",${RUN}}}`,
  'as a definition': `{"definition":{${RUN}}}`,
  "in other programs' form": `{"mcpServers":{"x":{${RUN}}}}`,
  'in a list of servers': `{"servers":{"x":{"type":"stdio",${RUN}}}}`,
  'in a list': `[{${RUN}}]`,
  'by its arguments only': `{"url":"URL","args":["${owned}"],"env":{"LD_PRELOAD":"/tmp/x.so"}}`,
  'as a sealed value': `{"command":{"sealed":"AAAA"}}`,
};

it('no route of the admin API takes a command, in whatever way it is put', async () => {
  const upstream = await scene.open('legacy');
  const tenant = await scene.tenant({ good: without(upstream) });
  const send = async (method: string, path: string, body: string): Promise<number> => {
    const response = await fetch(`${scene.app.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${scene.app.adminKey}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const bodies = Object.entries(WAYS).map(([way, body]) => [way, body.replaceAll('URL', upstream.url)] as const);
  for (const [way, body] of bodies)
    expect(await send('PUT', `/tenants/${tenant.id}/servers/shell`, body), way).toBeGreaterThanOrEqual(400);

  // Every route there is, and those that one might think of.
  const document = await scene.app.adminOk('GET', '/openapi.json');
  const routes = Object.entries(objectAt(document, 'paths')).flatMap(([path, operations]) =>
    Object.entries(operations as object)
      // A body that no route takes is not read at all.
      .filter(([method, operation]) => ['post', 'put', 'patch'].includes(method) && 'requestBody' in operation)
      .map(([method]) => [method.toUpperCase(), path] as const),
  );
  expect(routes.length).toBeGreaterThan(8);
  const guessed = [
    'servers',
    'servers/import',
    'servers/shell',
    'servers/good',
    'servers/good/test',
    'servers/shell/test',
  ];
  for (const path of guessed)
    for (const method of ['POST', 'PUT', 'PATCH']) routes.push([method, `/tenants/{tenant}/${path}`]);
  for (const [method, path] of routes) {
    const place = path
      .replace('{tenant}', tenant.id)
      .replace('{principal}', 'ann')
      .replaceAll(/\{\w+\}/g, 'shell');
    for (const [way, body] of bodies) {
      const status = await send(method, place, body);
      expect(status, `${method} ${path}, ${way}`).toBeGreaterThanOrEqual(400);
      expect(status, `${method} ${path}, ${way}`).toBeLessThan(500);
    }
  }
  const rows = await scene.app.sql('SELECT name FROM servers WHERE tenant_id = $1', [tenant.id]);
  expect(rows.map(({ name }) => name)).toEqual(['good']);
  expect((await scene.app.sql("SELECT 1 FROM servers WHERE definition::text LIKE '%touch%'")).length).toBe(0);
}, 60_000);

it('no row of the table makes one, and each that tries is invalid', async () => {
  const upstream = await scene.open('legacy');
  const tenant = await scene.tenant({ good: without(upstream) });
  const names: string[] = [];
  for (const body of Object.values(WAYS)) {
    const name = `row-${names.length}`;
    await scene.app.sql('INSERT INTO servers (tenant_id, name, definition) VALUES ($1, $2, $3)', [
      tenant.id,
      name,
      body.replaceAll('URL', upstream.url),
    ]);
    names.push(name);
  }
  const agent = await tenant.raw(RAW_KINDS[0]);
  const states = async () => objectAt(objectAt((await agent.listTools()).raw[0] ?? {}, '_meta'), 'keybearer/servers');
  const known = async () => {
    const all = await states();
    return names.every((name) => name in all);
  };
  await eventually('all rows to be known', known, 5_000);
  const now = await states();
  for (const [at, name] of names.entries())
    expect(now[name], Object.keys(WAYS)[at]).toMatchObject({ state: 'invalid', reason: expect.any(String) });
  expect(now['good']).toEqual({ state: 'ok' });
}, 30_000);
