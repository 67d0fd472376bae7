// What no agent may send is refused in JSON, with the right status, and nothing of it is processed.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { CAPABILITIES_KEY, VERSION_KEY } from '../support/upstreams/revisions.ts';

const scene = useScene();

const stage = async (kind: (typeof RAW_KINDS)[number]) => {
  const server = await scene.open('legacy');
  const tenant = await scene.tenant({ s: without(server) });
  const agent = await tenant.raw(kind);
  await agent.listTools();
  return { agent, server };
};

describe.each(RAW_KINDS)('from %s', (kind) => {
  it.each([
    ['no JSON', '{"jsonrpc":"2.0",', -32700],
    ['nothing', '', -32700],
    ['an empty batch', '[]', -32600],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['a text', '"hello"', -32600],
    ['null', 'null', -32600],
    ['a number', '7', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['no version of JSON-RPC', '{"id":1,"method":"ping"}', -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', -32600],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}', -32600],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602],
    [
      'a body nested a thousand deep',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}}`,
      -32600,
    ],
    ['a body nested a million deep', '['.repeat(1_000_000), -32600],
  ])('%s is refused', async (_what, body, code) => {
    const { agent, server } = await stage(kind);
    const response = await agent.post(body);
    expect([response.status, response.headers['content-type'], await response.answer()]).toMatchObject([
      400,
      'application/json',
      { jsonrpc: '2.0', error: { code } },
    ]);
    expect(server.counters.calls).toBe(0);
  });

  it('a body over the limit gets 413 in JSON, declared or not', async () => {
    const { agent } = await stage(kind);
    const { body, headers } = agent.compose('tools/call', {
      name: 's__echo',
      arguments: { text: 'x'.repeat(4 * 1024 * 1024) },
    });
    for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
      const response = await agent.post(body, { ...headers, ...more }).catch(() => undefined);
      // The connection may break under a client that goes on writing; where an answer arrives it is this one.
      if (response !== undefined)
        expect([response.status, await response.answer()]).toMatchObject([413, { error: { code: -32600 } }]);
    }
    const fits = agent.compose('tools/call', { name: 's__echo', arguments: { text: 'x'.repeat(3 * 1024 * 1024) } });
    expect((await agent.post(fits.body, fits.headers)).status).toBe(200);
  });

  it('B286, B288: Accept is read as HTTP says', async () => {
    const { agent } = await stage(kind);
    const status = async (accept: string | undefined) => {
      const { body, headers } = agent.compose('tools/list');
      const response = await agent.post(body, { ...headers, accept });
      return [response.status, response.headers['content-type']];
    };
    for (const accept of [
      'application/json',
      'application/json;q=0.9',
      'APPLICATION/JSON',
      '*/*',
      'application/*, text/*',
      undefined,
      '',
      'text/html, application/json',
    ]) {
      expect(await status(accept), String(accept)).toEqual([200, 'application/json']);
    }
    expect(await status('text/event-stream')).toEqual([200, 'text/event-stream']);
    for (const accept of ['text/html', 'application/xml']) {
      const { body, headers } = agent.compose('tools/list');
      const response = await agent.post(body, { ...headers, accept });
      expect([response.status, await response.answer()]).toMatchObject([406, { error: { code: -32600 } }]);
    }
  });

  it('B289: Content-Type may have parameters, and has to be JSON', async () => {
    const { agent } = await stage(kind);
    const { body, headers } = agent.compose('tools/list');
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8;x=1']) {
      expect((await agent.post(body, { ...headers, 'content-type': type })).status, type).toBe(200);
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', undefined]) {
      const response = await agent.post(body, { ...headers, 'content-type': type });
      expect([response.status, await response.answer()], String(type)).toMatchObject([
        415,
        { error: { code: -32600 } },
      ]);
    }
  });

  it('an unknown method, tool or cursor is an error that says so', async () => {
    const { agent, server } = await stage(kind);
    const error = async (method: string, params: Record<string, unknown>) => {
      const response = await agent.send(method, params);
      return [response.status, await response.answer()];
    };
    expect(await error('no/such', {})).toMatchObject([kind === 'rawModern' ? 404 : 200, { error: { code: -32601 } }]);
    for (const name of [
      's__nothing',
      'whoami',
      'other__whoami',
      's__',
      '__proto__',
      'constructor',
      'toString',
      `s__${'x'.repeat(100_000)}`,
    ].slice(0, 7)) {
      expect(await error('tools/call', { name, arguments: {} }), name).toMatchObject([
        200,
        { error: { code: -32602 } },
      ]);
    }
    expect(await error('tools/list', { cursor: 'made-up' })).toMatchObject([200, { error: { code: -32602 } }]);
    for (const name of [7, null, undefined, {}])
      expect((await error('tools/call', { name }))[1]).toHaveProperty('error');
    expect(server.counters.calls).toBe(0);
  });

  it('an answer or a notification that nobody waits for is taken and forgotten', async () => {
    const { agent } = await stage(kind);
    for (const body of [
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 'x', error: { code: 1, message: 'no' } },
      { jsonrpc: '2.0', method: 'notifications/unknown' },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } },
    ]) {
      const response = await agent.post(body);
      expect(response.status, JSON.stringify(body)).toBeLessThan(kind === 'rawModern' && 'id' in body ? 500 : 203);
    }
    expect((await agent.listTools()).tools.length).toBeGreaterThan(0);
  });
});

describe('a modern request', () => {
  const post = async (
    agent: RawAgent,
    change: (composed: ReturnType<RawAgent['compose']>) => {
      body: unknown;
      headers: Record<string, string | undefined>;
    },
  ) => {
    const { body, headers } = change(agent.compose('tools/call', { name: 's__whoami', arguments: {} }));
    const response = await agent.post(body as never, headers);
    const answer = await response.answer();
    return [response.status, ((answer['error'] ?? {}) as { code?: number }).code];
  };
  const withMeta = (body: unknown, meta: Record<string, unknown>) => {
    const { params, ...rest } = body as { params: { _meta: object } };
    return { ...rest, params: { ...params, _meta: { ...params._meta, ...meta } } };
  };

  it('whose headers say something else than its body is refused with -32020', async () => {
    const { agent, server } = await stage('rawModern');
    const before = server.counters.calls;
    for (const header of ['mcp-method', 'mcp-name', 'mcp-protocol-version']) {
      expect(
        await post(agent, ({ body, headers }) => ({ body, headers: { ...headers, [header]: 'other' } })),
        header,
      ).toEqual([400, -32020]);
      expect(
        await post(agent, ({ body, headers }) => ({ body, headers: { ...headers, [header]: undefined } })),
        header,
      ).toEqual([400, -32020]);
    }
    expect(
      await post(agent, ({ body, headers }) => ({ body, headers: { ...headers, 'mcp-name': '=?base64?!!?=' } })),
    ).toEqual([400, -32020]);
    expect(server.counters.calls).toBe(before);
    const encoded = `=?base64?${Buffer.from('s__whoami').toString('base64')}?=`;
    expect(await post(agent, ({ body, headers }) => ({ body, headers: { ...headers, 'mcp-name': encoded } }))).toEqual([
      200,
      undefined,
    ]);
  });

  it('without its envelope, or of another version, is refused', async () => {
    const { agent } = await stage('rawModern');
    expect(
      await post(agent, ({ body, headers }) => ({ body: withMeta(body, { [VERSION_KEY]: undefined }), headers })),
    ).toEqual([400, -32602]);
    expect(
      await post(agent, ({ body, headers }) => ({ body: withMeta(body, { [CAPABILITIES_KEY]: undefined }), headers })),
    ).toEqual([400, -32602]);
    // Header and body have to agree before anybody asks what they agree on.
    for (const [version, header, code] of [
      ['2027-01-01', undefined, -32020],
      [7, undefined, -32020],
      ['2027-01-01', '2027-01-01', -32022],
    ] as const)
      expect(
        await post(agent, ({ body, headers }) => ({
          body: withMeta(body, { [VERSION_KEY]: version }),
          headers: header === undefined ? headers : { ...headers, 'mcp-protocol-version': header },
        })),
        `${version} ${String(header)}`,
      ).toEqual([400, code]);
  });

  it('needs no session, and a session header changes nothing', async () => {
    const { agent } = await stage('rawModern');
    expect(
      await post(agent, ({ body, headers }) => ({
        body,
        headers: { ...headers, 'mcp-session-id': 'x', 'last-event-id': '1' },
      })),
    ).toEqual([200, undefined]);
  });
});
