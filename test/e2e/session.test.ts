// Sessions of the 2025 revisions: bound to their caller and path, and for everybody else not there.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene();

const listAs = async (agent: RawAgent, session: string | undefined, more: Record<string, string | undefined> = {}) => {
  const response = await agent.post(agent.compose('tools/list').body, { 'mcp-session-id': session, ...more });
  return { status: response.status, body: (await response.text()).replace(/"id":\d+/, '"id":0') };
};

describe('a session', () => {
  it('does not exist for anybody but its caller: unknown, ended and foreign look the same', async () => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(server) });
    const stranger = await scene.tenant();
    const [ada, bob, eve] = [
      await tenant.raw('rawLegacy', 'ada'),
      await tenant.raw('rawLegacy', 'bob'),
      await stranger.raw('rawLegacy', 'ada'),
    ];
    const ended = await tenant.raw('rawLegacy', 'ada');
    const endedId = ended.session;
    expect((await ended.delete()).status).toBe(204);
    ended.session = undefined;
    const unknown = 'x'.repeat(43);
    const answers = await Promise.all([
      listAs(ada, unknown),
      listAs(ada, endedId),
      listAs(bob, ada.session),
      listAs(eve, ada.session),
      listAs(ada, 'short'),
      listAs(ada, `${ada.session}x`),
    ]);
    expect(answers[0]).toMatchObject({ status: 404, body: expect.stringContaining('-32001') });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    for (const who of [bob, eve]) {
      expect((await who.delete({ 'mcp-session-id': ada.session })).status).toBe(404);
      expect((await who.get({ 'mcp-session-id': ada.session })).status).toBe(404);
      expect(
        await who.post(
          { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
          { 'mcp-session-id': ada.session },
        ),
      ).toMatchObject({ status: 404 });
    }
    expect((await listAs(ada, ada.session)).status).toBe(200);
  });

  it('belongs to the path it was opened on', async () => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(server) });
    const ada = await tenant.raw('rawLegacy');
    const one = await tenant.raw('rawLegacy', 'ada', '/mcp/s');
    expect((await listAs(one, ada.session)).status).toBe(404);
    expect((await listAs(ada, one.session)).status).toBe(404);
    expect((await listAs(one, one.session)).status).toBe(200);
  });

  it('is needed for everything but initialize', async () => {
    const tenant = await scene.tenant();
    const ada = await tenant.raw('rawLegacy');
    expect(await listAs(ada, undefined)).toMatchObject({
      status: 400,
      body: expect.stringContaining('Mcp-Session-Id'),
    });
    expect((await ada.get({ 'mcp-session-id': undefined })).status).toBe(400);
    expect((await ada.delete({ 'mcp-session-id': undefined })).status).toBe(400);
  });

  it('ends with its stream and its calls on DELETE', async () => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(server) });
    const ada = await tenant.raw('rawLegacy');
    const { stream } = await ada.get();
    const call = ada.send('tools/call', { name: 's__never', arguments: {} });
    await server.until(() => server.executed.get('never') === 1);
    expect((await ada.delete()).status).toBe(204);
    await stream?.ended();
    await server.until(() => server.counters.aborted === 1);
    await within(call, 'the call to end', 2_000);
    expect((await ada.delete()).status).toBe(404);
    ada.session = undefined;
  });

  it('has one stream: a second GET takes the place of the first', async () => {
    const tenant = await scene.tenant();
    const ada = await tenant.raw('rawLegacy');
    const first = await ada.get();
    const second = await ada.get();
    await first.stream?.ended();
    let heard = 0;
    second.stream?.onChange(() => (heard = second.stream?.messages.length ?? 0));
    await tenant.put('s', without(await scene.open('legacy')));
    await second.stream?.nth(1);
    expect(heard).toBeGreaterThan(0);
  });

  it('speaks the version that was agreed on', async () => {
    const tenant = await scene.tenant();
    const ada = await tenant.raw('rawLegacy');
    expect((await listAs(ada, ada.session, { 'mcp-protocol-version': undefined })).status, 'absent is forgiven').toBe(
      200,
    );
    expect(await listAs(ada, ada.session, { 'mcp-protocol-version': '2025-06-18' })).toMatchObject({ status: 400 });
    expect(await listAs(ada, ada.session, { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({
      status: 400,
      body: expect.stringContaining('-32022'),
    });
    expect(await listAs(ada, ada.session, { 'mcp-protocol-version': '2026-07-28' })).toMatchObject({ status: 400 });
  });

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['1999-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    [undefined, '2025-11-25'],
    [7, '2025-11-25'],
  ])('asked for in version %s is opened in %s', async (asked, agreed) => {
    const tenant = await scene.tenant();
    const ada = await tenant.raw('rawLegacy');
    const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const response = await ada.post(
      { jsonrpc: '2.0', id: 1, method: 'initialize', params },
      { 'mcp-session-id': undefined, 'mcp-protocol-version': undefined },
    );
    expect(await response.answer()).toMatchObject({
      id: 1,
      result: {
        protocolVersion: agreed,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'keybearer' },
      },
    });
    const session = String(response.headers['mcp-session-id']);
    expect(session).toMatch(/^[\x21-\x7e]+$/);
    expect((await listAs(ada, session, { 'mcp-protocol-version': agreed })).status).toBe(200);
  });
});
