import { afterEach, describe, expect, it } from 'vitest';
import { aCaller, settled } from '../catalog/a-tenant.ts';
import { until } from './a-door.ts';
import { Bench, hanging, request } from './an-endpoint.ts';

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

describe('a call that nobody waits for any more', () => {
  it('B030: ends at once, cancelled by its id, and gets no answer', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const calling = bench.post(request('tools/call', { name: 'a' }, 'c1'), session);
    await until(() => bench.calls.length === 1, 'the call');
    await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } }, session);
    expect(await calling).toMatchObject({ status: 202, text: '' });
    expect(bench.calls[0]?.signal.reason).toMatchObject({ code: 'cancelled' });
  });

  it('B030: is not ended by an id of another session, type or value', async () => {
    begin().callTool = hanging;
    const [session, other] = [await bench.session(), await bench.session()];
    const calling = bench.post(request('tools/call', { name: 'a' }, 7), session);
    await until(() => bench.calls.length === 1, 'the call');
    for (const [requestId, from] of [
      [7, other],
      ['7', session],
      [8, session],
      [null, session],
      [undefined, session],
    ] as const) {
      await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, from);
    }
    expect(bench.calls[0]?.signal.aborted).toBe(false);
    await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }, session);
    await calling;
  });

  it('ends when the agent goes away, and leaves no trace in its session', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const door = await bench.door();
    const body = JSON.stringify(request('tools/call', { name: 'a' }));
    const { socket } = door.raw(
      `POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\nmcp-session-id: ${session['mcp-session-id']}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => bench.calls.length === 1, 'the call');
    socket.destroy();
    await until(() => bench.calls[0]?.signal.aborted === true, 'the call to end');
    await settled();
    expect(
      bench.sessions.find(session['mcp-session-id'], aCaller(), { tenant: undefined, only: undefined, path: '/mcp' })
        ?.inFlight?.size,
    ).toBe(0);
  });

  it('ends with its session', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const calling = bench.post(request('tools/call', { name: 'a' }), session);
    await until(() => bench.calls.length === 1, 'the call');
    await (await bench.door()).request('DELETE', '/mcp', { authorization: 'anna', ...session });
    expect(await calling).toMatchObject({ status: 202 });
  });
});
