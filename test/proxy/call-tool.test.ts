import { describe, expect, it } from 'vitest';
import type { Target } from '../../src/catalog/view.ts';
import { createCallTool } from '../../src/proxy/call-tool.ts';
import type { CallTool } from '../../src/proxy/operations.ts';
import { createShaper } from '../../src/result/shape.ts';
import { Reply } from '../../src/wire/reply.ts';
import { readTools } from '../catalog/read-tools.ts';
import { aServer } from '../credential/in-memory.ts';
import { anAsking } from './an-asking.ts';
import { aCall, aCaller, settled, Upstream } from './support.ts';

const TOOL = {
  name: 'search it',
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
};
const [tool] = readTools([TOOL]).tools;

class Bench extends Upstream {
  target: Target | undefined;
  connects = 0;
  readonly callTool: CallTool;
  readonly asking = anAsking(this);

  constructor(definition: Readonly<Record<string, unknown>> = {}) {
    super();
    if (tool === undefined) throw new Error('the tool is good');
    this.target = { kind: 'tool', server: aServer(definition), tool };
    this.callTool = createCallTool({
      catalog: {
        find: () => this.target,
        view: () => Promise.resolve(undefined),
        status: () => ({ state: 'ok', reason: undefined, toolCount: 0, lastError: undefined }),
      },
      askSignIn: this.asking.askSignIn,
      connect: () => (this.connects++, Promise.resolve({ kind: 'result', result: { content: [] } })),
      withUpstream: this.withUpstream,
      shaper: createShaper({ name: 'keybearer', version: '1' }),
      clock: this.clock,
    });
  }
}

const textOf = (answer: Awaited<ReturnType<CallTool>>): string =>
  answer.kind === 'reply'
    ? Buffer.concat(answer.reply.parts('9', answer.edits).map((part) => Buffer.from(part))).toString()
    : '';

describe('a call', () => {
  it("reaches the server under the tool's own name, with everything else as the agent sent it", async () => {
    const bench = new Bench();
    const { call, signal } = aCall(
      { name: 'notes__search_it-1', arguments: { q: 1 }, _meta: { a: 1 }, 'x-new': true },
      { progressToken: '"t"' },
    );
    await bench.callTool(aCaller(), call, signal);
    expect(bench.requests[0]).toMatchObject({
      method: 'tools/call',
      name: 'search it',
      params: { name: 'search it', arguments: { q: 1 }, _meta: { a: 1 }, 'x-new': true },
      progressToken: '"t"',
      paramHeaders: [],
    });
  });

  it('mirrors arguments into headers where the schema wants it', async () => {
    const bench = new Bench();
    const { call, signal } = aCall({ arguments: { region: 'eu' } });
    await bench.callTool(aCaller(), call, signal);
    expect(bench.requests[0]?.paramHeaders).toEqual([['mcp-param-region', 'eu']]);
  });

  it("gives the server's own answer, labelled", async () => {
    const bench = new Bench();
    bench.outcomes = [Reply.of(1, { result: { content: [{ type: 'text', text: 'hi' }] } })];
    const { call, signal } = aCall();
    expect(textOf(await bench.callTool(aCaller(), call, signal))).toBe(
      '{"jsonrpc":"2.0","id":9,"result":{"_meta":{"keybearer/origin":{"server":"notes","trust":"outside"}},"content":[{"type":"text","text":"hi"}]}}',
    );
  });

  it('passes what the server says meanwhile to the one who called', async () => {
    const bench = new Bench();
    bench.outcomes = [
      ({ hearing }) => (hearing?.message('note'), void hearing?.flush(), Promise.resolve(Reply.of(1, { result: {} }))),
    ];
    const { call, signal, heard } = aCall();
    await bench.callTool(aCaller(), call, signal);
    expect([heard.messages, heard.flushes]).toEqual([['note'], 1]);
  });

  it("tells a modern agent's abilities to the server, and never those of a legacy one", async () => {
    const bench = new Bench();
    for (const era of ['legacy', 'modern'] as const) {
      const { call, signal } = aCall({}, { era, capabilities: { sampling: {} } });
      await bench.callTool(aCaller(), call, signal);
    }
    expect(bench.requests.map(({ capabilities }) => capabilities)).toEqual([undefined, { sampling: {} }]);
  });

  it('to a name that is not there says so, without quoting at length', async () => {
    const bench = new Bench();
    bench.target = undefined;
    const { call, signal } = aCall({}, { name: 'x'.repeat(5_000) });
    await expect(bench.callTool(aCaller(), call, signal)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/^.{0,200}$/),
    });
  });

  it('to the stand-in goes to no server', async () => {
    const bench = new Bench();
    bench.target = { kind: 'connect', server: aServer() };
    const { call, signal } = aCall();
    await bench.callTool(aCaller(), call, signal);
    expect([bench.connects, bench.connections.length]).toEqual([1, 0]);
  });

  it('to a gated tool is not run', async () => {
    const bench = new Bench({ gated: true });
    const { call, signal } = aCall();
    await expect(bench.callTool(aCaller(), call, signal)).rejects.toMatchObject({ code: 'approval_required' });
    expect(bench.connections).toEqual([]);
  });
});

describe('the time of a call', () => {
  const hang = ({ signal }: { signal: AbortSignal }): Promise<Reply> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

  it('ends it, and the signal that cancels it at the server says why', async () => {
    const bench = new Bench({ timeoutMs: 5_000 });
    bench.outcomes = [hang];
    const { call, signal } = aCall();
    const calling = bench.callTool(aCaller(), call, signal);
    await settled();
    bench.clock.advance(4_999);
    expect(signal.aborted).toBe(false);
    bench.clock.advance(1);
    await expect(calling).rejects.toMatchObject({
      code: 'upstream_timeout',
      data: { timeoutMs: 5_000 },
      message: expect.stringContaining('may have run'),
    });
    expect(bench.requests).toHaveLength(1);
  });

  it('B024: starts anew with progress, up to ten minutes in all', async () => {
    const bench = new Bench({ timeoutMs: 60_000 });
    let progress: () => void = () => undefined;
    bench.outcomes = [(request) => ((progress = () => request.hearing?.progress()), hang(request))];
    const { call, signal } = aCall();
    const calling = bench.callTool(aCaller(), call, signal);
    calling.catch(() => undefined);
    await settled();
    for (let minute = 0; minute < 19; minute++) {
      bench.clock.advance(30_000);
      progress();
    }
    expect(signal.aborted).toBe(false);
    bench.clock.advance(30_000);
    await expect(calling).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  it('leaves no timer behind, however the call ends', async () => {
    const bench = new Bench();
    const before = bench.clock.pending;
    for (const outcome of [Reply.of(1, { result: {} }), new Error('broken')]) {
      bench.outcomes = [outcome];
      const { call, signal } = aCall();
      await bench.callTool(aCaller(), call, signal).catch(() => undefined);
    }
    expect(bench.clock.pending).toBe(before);
  });
});
