// What the endpoint does for agents that can be asked: answers to our questions, and -32042 with its notice.
import { afterEach, describe, expect, it } from 'vitest';
import type { Questions } from '../../src/proxy/operations.ts';
import { ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import type { JsonObject } from '../../src/wire/reply.ts';
import { until } from './a-door.ts';
import { Bench, hanging, request } from './an-endpoint.ts';

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

const SHOWS_LINKS = { elicitation: { url: {} } };
const initialize = (capabilities: object = SHOWS_LINKS, protocolVersion = '2025-11-25') => ({
  protocolVersion,
  capabilities,
});
const open = (capabilities?: object, version?: string) => bench.session({}, initialize(capabilities, version));
const CALL = request('tools/call', { name: 'linear__search' });
const LINK = 'https://kb.example/connect/x';
const asked = (url = LINK): SignInRequiredError => new SignInRequiredError('linear', url, 1_700_000_600_000);

describe('questions', () => {
  const questionsOf = async (
    capabilities?: object,
    version?: string,
    accept?: string,
  ): Promise<Questions | undefined> => {
    const session = await open(capabilities, version);
    await bench.post(CALL, accept === undefined ? session : { ...session, accept });
    return bench.calls.at(-1)?.call.questions;
  };

  it('can be put to an agent of 2025-11-25 that shows links and takes events, and to no other', async () => {
    begin();
    expect(await questionsOf()).toBeDefined();
    expect(await questionsOf({ elicitation: { url: {}, form: {} } })).toBeDefined();
    expect(await questionsOf({})).toBeUndefined();
    expect(await questionsOf({ elicitation: {} })).toBeUndefined();
    expect(await questionsOf({ elicitation: { form: {} } })).toBeUndefined();
    expect(await questionsOf(SHOWS_LINKS, '2025-06-18')).toBeUndefined();
    expect(await questionsOf(SHOWS_LINKS, '2025-11-25', 'application/json')).toBeUndefined();
    await bench.modern('tools/call', { name: 'linear__search' });
    expect(bench.calls.at(-1)?.call.questions).toBeUndefined();
  });

  it('are answered once, by their own session and caller', async () => {
    begin();
    const session = await open();
    const heard: JsonObject[] = [];
    let id = '';
    bench.callTool = (_caller, { questions }) => {
      id = JSON.parse(questions?.open((result) => heard.push(result)) ?? '""') as string;
      return Promise.resolve({ kind: 'result', result: { content: [] } });
    };
    await bench.post(CALL, session);
    const answer = { jsonrpc: '2.0', id, result: { action: 'accept' } };
    const other = await open();
    expect(await bench.post(answer, other)).toMatchObject({ status: 202, text: '' });
    expect((await bench.post(answer, { ...session, authorization: 'ben' })).status).toBe(404);
    expect((await bench.post(answer)).status).toBe(400);
    expect((await bench.post({ ...answer, id: `${id}0` }, session)).status).toBe(202);
    expect(heard).toEqual([]);
    for (let n = 0; n < 2; n++) expect(await bench.post(answer, session)).toMatchObject({ status: 202, text: '' });
    expect(heard).toEqual([{ action: 'accept' }]);
  });

  it('hear an error, or a result that is none, as an empty answer, and nothing once they are closed', async () => {
    begin();
    const session = await open();
    const heard: JsonObject[] = [];
    const ids: string[] = [];
    bench.callTool = (_caller, { questions }) => {
      const text = questions?.open((result) => heard.push(result)) ?? '""';
      ids.push(JSON.parse(text) as string);
      if (ids.length === 3) questions?.close(text);
      return Promise.resolve({ kind: 'result', result: { content: [] } });
    };
    for (let n = 0; n < 3; n++) await bench.post(CALL, session);
    await bench.post({ jsonrpc: '2.0', id: ids[0], error: { code: -1, message: 'no' } }, session);
    await bench.post({ jsonrpc: '2.0', id: ids[1], result: 7 }, session);
    await bench.post({ jsonrpc: '2.0', id: ids[2], result: { action: 'accept' } }, session);
    expect(heard).toEqual([{}, {}]);
    expect(new Set(ids).size).toBe(3);
  });

  it('travel in the stream of their call, before its answer', async () => {
    begin();
    const session = await open();
    bench.callTool = async (_caller, { hearing }) => {
      hearing.message('{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}');
      await hearing.flush();
      return { kind: 'result', result: { content: [] } };
    };
    const { headers, text } = await bench.post(CALL, session);
    expect(headers['content-type']).toBe('text/event-stream');
    expect(text.indexOf('elicitation/create')).toBeLessThan(text.indexOf('"content":[]'));
  });

  it('of a call end with the session', async () => {
    begin();
    const session = await open();
    bench.callTool = hanging;
    const calling = bench.post(CALL, session);
    await until(() => bench.calls.length === 1, 'the call');
    await (await bench.door()).request('DELETE', '/mcp', { authorization: 'anna', ...session });
    expect((await calling).status).toBe(202);
    expect(bench.calls[0]?.signal.reason).toMatchObject({ code: 'cancelled' });
  });
});

describe('a method that needs a sign-in', () => {
  const failing = (error: Error): void => {
    bench.listTools = () => Promise.reject(error);
  };
  const listen = async (session: { 'mcp-session-id': string }): Promise<() => string> => {
    const { text } = (await bench.door()).raw(
      `GET /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\naccept: text/event-stream\r\nmcp-session-id: ${session['mcp-session-id']}\r\n\r\n`,
    );
    await until(() => text().includes(': listening'), 'the stream');
    return text;
  };

  it('is answered with -32042 and the link', async () => {
    begin();
    failing(asked());
    const answered = await bench.post(request('tools/list'), await open());
    expect([answered.status, answered.json()]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32042,
          message: expect.stringContaining('linear'),
          data: {
            error: 'sign_in_required',
            server: 'linear',
            url: LINK,
            expiresAt: '2023-11-14T22:23:20.000Z',
            elicitations: [
              {
                mode: 'url',
                elicitationId: expect.stringMatching(/^[\w-]{20,}$/),
                url: LINK,
                message: expect.stringContaining('linear'),
              },
            ],
          },
        },
      },
    ]);
  });

  it.each([
    ['an agent that cannot show links', {}, '2025-11-25'],
    ['an agent of an older revision', SHOWS_LINKS, '2025-06-18'],
  ])('is answered as ever to %s', async (_, capabilities, version) => {
    begin();
    failing(asked());
    const answered = await bench.post(request('tools/list'), await open(capabilities, version));
    expect(answered.json()).toMatchObject({ error: { code: 403, data: { error: 'sign_in_required', url: LINK } } });
  });

  it('is never answered with -32042 in 2026-07-28, nor is a tool call', async () => {
    begin();
    failing(asked());
    bench.callTool = () => Promise.reject(asked());
    expect((await bench.modern('tools/list')).json()).toMatchObject({ error: { code: 403 } });
    expect((await bench.post(CALL, await open())).json()).toMatchObject({
      result: { structuredContent: { error: 'sign_in_required' } },
    });
  });

  it('is told by the stream of its session that it is done, once, and no other session is', async () => {
    begin();
    failing(asked());
    let done: (isDone: boolean) => void = () => undefined;
    let waits = 0;
    bench.signInDone = () => (waits++, new Promise((resolve) => (done = resolve)));
    const [mine, other] = [await open(), await open()];
    const [stream, silent] = [await listen(mine), await listen(other)];
    const idOf = async (): Promise<unknown> =>
      (
        (await bench.post(request('tools/list'), mine)).json() as {
          error: { data: { elicitations: { elicitationId: unknown }[] } };
        }
      ).error.data.elicitations[0]?.elicitationId;
    const id = await idOf();
    expect(await idOf(), 'one link, one elicitation').toBe(id);
    expect(waits).toBe(1);
    done(true);
    const notice = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"${String(id)}"}}`;
    await until(() => stream().includes(notice), 'the notice');
    expect(await idOf(), 'a new one after that').not.toBe(id);
    expect(stream().split('elicitation/complete')).toHaveLength(2);
    expect(silent()).not.toContain('elicitation/complete');
  });

  it('is told nothing when nobody signs in, nothing listens, or the wait fails', async () => {
    begin();
    const session = await open();
    const outcomes: (() => Promise<boolean>)[] = [
      () => Promise.resolve(true),
      () => Promise.resolve(false),
      () => Promise.reject(new Error('no database')),
    ];
    bench.signInDone = () => outcomes.shift()?.() ?? Promise.resolve(false);
    failing(asked());
    await bench.post(request('tools/list'), session);
    const stream = await listen(session);
    for (let n = 0; n < 2; n++) await bench.post(request('tools/list'), session);
    await until(() => bench.lines.some((line) => line.includes('no notice of a sign-in')), 'the log');
    expect(outcomes).toEqual([]);
    expect(stream()).not.toContain('elicitation/complete');
  });

  it('waits for no more than fifty links of a session, and for none once it has ended', async () => {
    begin();
    const signals: AbortSignal[] = [];
    bench.signInDone = (_caller, _asked, signal) => (
      signals.push(signal),
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))
    );
    const session = await open();
    for (let n = 0; n < 52; n++) {
      failing(asked(`${LINK}${n}`));
      expect((await bench.post(request('tools/list'), session)).json()).toMatchObject({ error: { code: -32042 } });
    }
    expect(signals).toHaveLength(50);
    await (await bench.door()).request('DELETE', '/mcp', { authorization: 'anna', ...session });
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    expect(signals[0]?.reason).toBeInstanceOf(ProxyError);
    expect(bench.lines.join()).not.toContain('no notice');
  });
});
