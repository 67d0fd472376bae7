import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Accepted } from '../../src/agent/negotiate.ts';
import { Responder } from '../../src/agent/responder.ts';
import { ADoor, type Answered, until } from './a-door.ts';

const BOTH: Accepted = { json: true, events: true };
const JSON_ONLY: Accepted = { json: true, events: false };
const EVENTS_ONLY: Accepted = { json: false, events: true };
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message"}';
const ANSWER = ['{"jsonrpc":"2.0","id":', '7', Buffer.from(',"result":{}}')];

let door: ADoor | undefined;
afterEach(async () => {
  await door?.close();
  door = undefined;
});

async function answered(accepted: Accepted, answer: (responder: Responder) => unknown): Promise<Answered> {
  door = await ADoor.open((_request, response) => void answer(new Responder(response, accepted)));
  return door.request('POST');
}

describe('an answer', () => {
  it('is JSON when there was nothing to say before it', async () => {
    const { status, headers, text } = await answered(BOTH, (responder) => responder.send(ANSWER, 200, ['x-a', '1']));
    expect([status, text]).toEqual([200, '{"jsonrpc":"2.0","id":7,"result":{}}']);
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '36', 'x-a': '1' });
  });

  it('is the last event of a stream when there was', async () => {
    const { status, headers, text } = await answered(BOTH, (responder) => {
      responder.message(NOTE);
      void responder.flush();
      responder.send(ANSWER, 500);
    });
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(text).toBe(
      `event: message\ndata: ${NOTE}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n`,
    );
  });

  it('takes what was gathered and not written yet along, when it has become a stream', async () => {
    const { text } = await answered(BOTH, (responder) => {
      responder.message(NOTE);
      void responder.flush();
      responder.message(NOTE);
      responder.send(ANSWER);
    });
    expect(text.split('notifications/message')).toHaveLength(3);
  });

  it('is all that an agent hears that takes no streams', async () => {
    const { headers, text } = await answered(JSON_ONLY, (responder) => {
      responder.message(NOTE);
      expect(responder.flush()).toBeUndefined();
      responder.send(ANSWER);
    });
    expect([headers['content-type'], text]).toEqual(['application/json', '{"jsonrpc":"2.0","id":7,"result":{}}']);
  });

  it('is an event for an agent that takes nothing else', async () => {
    const { headers, text } = await answered(EVENTS_ONLY, (responder) => responder.send(ANSWER));
    expect([headers['content-type'], text]).toEqual([
      'text/event-stream',
      'event: message\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n',
    ]);
  });

  it('B022: stays one data line, also when the server wrote it in many', async () => {
    const pretty = JSON.stringify({ jsonrpc: '2.0', id: 7, result: { text: 'a\nb\r漢' } }, undefined, 2).replaceAll(
      '\n',
      '\r\n',
    );
    const { text } = await answered(EVENTS_ONLY, (responder) =>
      responder.send([pretty.slice(0, 20), Buffer.from(pretty.slice(20))]),
    );
    const [, data = ''] = /^event: message\ndata: (.*)\n\n$/.exec(text) ?? [];
    expect(JSON.parse(data)).toEqual(JSON.parse(pretty));
  });

  it('arrives whole however large, with its length said before', async () => {
    for (const bytes of [64 * 1024 - 36, 64 * 1024, 3_000_000]) {
      const { headers, text } = await answered(BOTH, (responder) =>
        responder.send([...ANSWER, Buffer.alloc(bytes, ' ')]),
      );
      expect(headers['content-length']).toBe(String(bytes + 36));
      expect(text).toHaveLength(bytes + 36);
      await door?.close();
    }
  });

  it('keeps the bytes of what it passes on: a message seen as latin1 is UTF-8 again', async () => {
    const { text } = await answered(BOTH, (responder) => {
      responder.message(Buffer.from('{"text":"漢😀"}').toString('latin1'));
      void responder.flush();
      responder.send(ANSWER);
    });
    expect(text).toContain('data: {"text":"漢😀"}\n');
  });

  it('is preceded by signs of life in a stream, which say nothing, and by none where there can be no stream', async () => {
    const streamed = await answered(BOTH, (responder) => {
      responder.stillHere();
      responder.stillHere();
      responder.send(ANSWER, 500);
    });
    expect([streamed.status, streamed.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(streamed.text).toBe(
      ': waiting\n\n: waiting\n\nevent: message\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n',
    );
    await door?.close();
    const plain = await answered(JSON_ONLY, (responder) => {
      responder.stillHere();
      responder.send(ANSWER);
    });
    expect([plain.headers['content-type'], plain.text]).toEqual([
      'application/json',
      '{"jsonrpc":"2.0","id":7,"result":{}}',
    ]);
  });

  it('shows its stream before it is there', async () => {
    let responder: Responder | undefined;
    door = await ADoor.open((_request, response) => {
      responder = new Responder(response, BOTH);
      responder.stillHere();
    });
    const { text } = door.raw('POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await until(() => text().includes('text/event-stream') && text().includes(': waiting'), 'the head and a sign');
    responder?.send(ANSWER);
  });

  it('does not come after a cancellation', async () => {
    expect(await answered(BOTH, (responder) => responder.endWithoutAnswer())).toMatchObject({ status: 202, text: '' });
    await door?.close();
    const streamed = await answered(BOTH, (responder) => {
      responder.message(NOTE);
      void responder.flush();
      responder.endWithoutAnswer();
    });
    expect(streamed).toMatchObject({ status: 200, text: `event: message\ndata: ${NOTE}\n\n` });
  });
});

/** Says so much that the sockets of both ends take no more. */
async function overfilled(responder: Responder | undefined): Promise<{ readonly isThrough: boolean }> {
  for (let n = 0; n < 200; n++) {
    responder?.message(`"${'x'.repeat(500_000)}"`);
    const state = { isThrough: false };
    const slow = responder?.flush() ?? Promise.resolve();
    slow.then(
      () => (state.isThrough = true),
      () => undefined,
    );
    for (let tick = 0; tick < 50 && !state.isThrough; tick++) await new Promise(setImmediate);
    if (!state.isThrough) return state;
  }
  throw new Error('it takes everything');
}

describe('an agent that reads slowly', () => {
  it('holds back what is read for it, until it has caught up', async () => {
    let responder: Responder | undefined;
    door = await ADoor.open((_request, response) => {
      responder = new Responder(response, BOTH);
    });
    const socket = door.deaf('POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await until(() => responder !== undefined, 'the request');
    const slow = await overfilled(responder);
    expect(slow.isThrough).toBe(false);
    socket.resume();
    await until(() => slow.isThrough, 'the agent to catch up');
  });

  it('and leaves holds nothing back any more', async () => {
    let responder: Responder | undefined;
    door = await ADoor.open((_request, response) => {
      responder = new Responder(response, BOTH);
    });
    const socket = door.deaf('POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await until(() => responder !== undefined, 'the request');
    const slow = await overfilled(responder);
    socket.destroy();
    await until(() => slow.isThrough, 'nothing to be held back');
    await until(() => responder?.isGone === true, 'it to be gone');
    responder?.message('x');
    expect(responder?.flush()).toBeUndefined();
    responder?.send(ANSWER);
  });
});

describe('an agent that does not read', () => {
  const LARGE = Buffer.alloc(16 * 1024 * 1024, 0x20);
  const REQUEST = 'POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n';
  const UNREAD_MS = 60;

  /** The connection that the answer goes out on. */
  async function toDeaf(answer: (responder: Responder) => unknown): Promise<Socket> {
    let connection: Socket | undefined;
    door = await ADoor.open((_request, response) => {
      connection = response.socket ?? undefined;
      void answer(new Responder(response, BOTH, UNREAD_MS));
    });
    door.deaf(REQUEST);
    await until(() => connection !== undefined, 'the answer to begin');
    return connection as Socket;
  }

  it.each([
    ['a large answer', (responder: Responder) => responder.send([LARGE])],
    [
      'the last event of a stream',
      (responder: Responder) => {
        responder.message(NOTE);
        void responder.flush();
        responder.send([LARGE]);
      },
    ],
    [
      'what comes before it',
      (responder: Responder) => {
        responder.message(LARGE.toString('latin1'));
        return responder.flush();
      },
    ],
  ])('is let go when it is %s', async (_, answer) => {
    const connection = await toDeaf(answer);
    await until(() => connection.destroyed, 'the connection to be closed');
    expect(connection.bytesWritten).toBeGreaterThan(LARGE.length);
  });

  it('and then does may wait for the rest as long as the call takes', async () => {
    let response: ServerResponse | undefined;
    let isRead = false;
    door = await ADoor.open((_request, its) => {
      response = its;
      const responder = new Responder(its, BOTH, 30_000);
      responder.message(LARGE.toString('latin1'));
      void responder.flush()?.then(() => (isRead = true));
    });
    const socket = door.deaf(REQUEST);
    await until(() => response?.socket?.timeout === 30_000, 'the time to begin');
    socket.resume();
    await until(() => isRead, 'it to be read');
    expect(response?.socket?.timeout).toBe(0);
  });
});
