import type { Dispatcher } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Echo } from '../../src/upstream/echo.ts';
import { callOverHttp } from '../../src/upstream/http-call.ts';
import { HttpTarget } from '../../src/upstream/http-target.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { loopbackPolicy, openTestDoor } from '../support/a-door.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aHearing, type Heard } from '../support/stdio/a-stdio-server.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { startEvents } from '../support/upstreams/responses.ts';
import { within } from '../support/within.ts';

const ID = 5;
const ANSWER = '{"jsonrpc":"2.0","id":5,"result":{"content":[]}}';
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"on my way"}}';
const progress = (token: unknown, more = ''): string =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(token)},"progress":1}${more}}`;

let dispatcher: Dispatcher;
let server: Listener | undefined;
beforeEach(() => {
  dispatcher = openTestDoor();
});
afterEach(async () => {
  await dispatcher.destroy();
  await server?.close();
  server = undefined;
});

interface Outcome {
  readonly reply: Reply;
  readonly hearing: Heard;
  readonly asked: readonly string[];
}

/** What comes of a call on whose stream the server says all this. */
async function calling(
  events: readonly (string | Buffer)[],
  progressToken: string | undefined = '"mine"',
): Promise<Outcome> {
  server = await listen((req, res) => {
    req.resume();
    startEvents(res);
    for (const event of events)
      res.write(Buffer.concat([Buffer.from('data: '), Buffer.from(event), Buffer.from('\n\n')]));
    res.end();
  });
  const [hearing, asked] = [aHearing(), [] as string[]];
  const call = callOverHttp(
    { dispatcher, elsewhere: dispatcher, policy: loopbackPolicy, clock: new FakeClock() },
    {
      target: new HttpTarget(new URL('/mcp', server.url), [], [], new Echo([])),
      headers: [],
      id: ID,
      body: '{}',
      hasSession: false,
      signal: undefined,
      hearing,
      progressToken,
      onServerRequest: (raw) => asked.push(raw),
    },
  );
  return { reply: await within(call, 'the answer'), hearing, asked };
}

describe('what a server says on the stream of a call', () => {
  it('reaches the agent as it is, but for the token of progress', async () => {
    const { hearing, reply } = await calling([NOTE, progress(ID), progress(String(ID)), ANSWER]);
    expect(hearing.messages).toEqual([NOTE, progress('mine'), progress('mine')]);
    expect(hearing.counts.progress).toBe(2);
    expect(hearing.counts.flush).toBeGreaterThan(0);
    expect(reply.bytes.toString()).toBe(ANSWER);
  });

  it('B027: is dropped where it is progress of nothing that was asked', async () => {
    const { hearing } = await calling([progress(6), progress(null), progress('made up'), progress(0), ANSWER]);
    expect([hearing.messages, hearing.counts.progress]).toEqual([[], 0]);
  });

  it('B121: is passed over where it is an answer to something else, or no message at all', async () => {
    const { reply, hearing, asked } = await calling([
      '{"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":"not yours"}]}}',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
      'ping',
      '[]',
      '7',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","method":7}',
      ANSWER,
    ]);
    expect(reply.bytes.toString()).toBe(ANSWER);
    expect([hearing.messages, asked]).toEqual([[], []]);
  });

  // An agent goes by the id alone, whatever stream a message comes on: this would answer its request to another server.
  it.each([
    [
      'a notification with an id and a result',
      '{"jsonrpc":"2.0","method":"notifications/message","params":{},"id":7,"result":{"content":[]}}',
    ],
    [
      'one whose id is in disguise',
      '{"jsonrpc":"2.0","method":"notifications/message","params":{},"\\u0069d":7,"result":{}}',
    ],
    ['one with an error', '{"jsonrpc":"2.0","method":"notifications/message","error":{"code":1,"message":""},"id":7}'],
    ['progress with an id and a result', progress(ID, ',"id":7,"result":{"content":[]}')],
    ['progress with a disguised id', progress(ID, ',"\\u0069d":7,"result":{"content":[]}')],
    [
      'progress with a second token',
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progressToken":7,"progress":1}}',
    ],
    [
      'progress with a second, disguised token',
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress\\u0054oken":7,"progress":1}}',
    ],
  ])('never answers for another server: %s', async (_, smuggled) => {
    const { hearing, reply } = await calling([smuggled, ANSWER]);
    expect(hearing.messages).toEqual([]);
    expect(reply.bytes.toString()).toBe(ANSWER);
  });

  it('that is a second answer with an id of its own choice comes with none but the right one', async () => {
    const { reply } = await calling(['{"jsonrpc":"2.0","id":5,"result":{"content":[]},"id":5,"x":{}}']);
    const out = Buffer.concat(reply.parts('"mine"').map((part) => Buffer.from(part))).toString();
    expect(out).toBe('{"jsonrpc":"2.0","id":"mine","result":{"content":[]}}');
    await server?.close();
    await expect(calling(['{"jsonrpc":"2.0","id":5,"result":{"content":[]},"id":7}'])).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
  });

  it.each([
    ['first', '{"jsonrpc":"2.0","id":"ask","method":"sampling/createMessage","params":{}}'],
    ['last', '{"jsonrpc":"2.0","method":"sampling/createMessage","params":{"id":1},"id":"ask"}'],
    ['in disguise', '{"jsonrpc":"2.0","method":"sampling/createMessage","params":{},"\\u0069\\u0064":"ask"}'],
    ['null', '{"jsonrpc":"2.0","method":"sampling/createMessage","params":{},"id":null}'],
  ])('B132: is a request to us wherever its id stands, and never reaches the agent: %s', async (_, request) => {
    const { hearing, asked } = await calling([request, ANSWER]);
    expect([hearing.messages, asked]).toEqual([[], [request]]);
  });

  it('comes in one line, and in UTF-8', async () => {
    const pretty = '{"jsonrpc":"2.0",\ndata: "method":"notifications/message",\ndata: "params":{"data":"漢"}}';
    const broken = Buffer.from(NOTE.replace('on my way', 'caf?'));
    broken[broken.indexOf('?')] = 0xe9;
    const { hearing } = await calling([pretty, broken, ANSWER]);
    const texts = hearing.messages.map((raw) => Buffer.from(raw, 'latin1').toString('utf8'));
    expect(texts.every((text) => !text.includes('\n'))).toBe(true);
    expect(texts.map((text) => (JSON.parse(text) as { params: { data: string } }).params.data)).toEqual([
      '漢',
      'caf\ufffd',
    ]);
  });

  it('that has a line break in its token is one line as well', async () => {
    const { hearing } = await calling([
      '{"jsonrpc":"2.0",\ndata: "method":"notifications/progress","params":{"progressToken":5,"progress":1}}',
      ANSWER,
    ]);
    expect(JSON.parse(hearing.messages[0] ?? '')).toMatchObject({ params: { progressToken: 'mine' } });
  });
});
