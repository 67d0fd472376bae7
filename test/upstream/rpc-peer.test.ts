// A mistake of ours in taking one message is the end of one connection, and of nothing else.
import { expect, it } from 'vitest';
import { Echo } from '../../src/upstream/echo.ts';
import { RpcPeer } from '../../src/upstream/rpc-peer.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aLog, client } from '../support/stdio/a-stdio-server.ts';

it('closes when a message breaks what reads it, and throws nothing at whoever brought it', async () => {
  const log = aLog('error');
  const { logger } = log;
  const echo = new Echo([]);
  const send = (_text: string, done: () => void): undefined => {
    done();
  };
  const peer = new RpcPeer({ clock: new FakeClock(), logger, client, echo, send });
  const waiting = peer.request('modern', {
    method: 'tools/list',
    params: {},
    signal: new AbortController().signal,
    hearing: undefined,
  });
  echo.message = () => {
    throw new RangeError('a mistake');
  };
  expect(peer.receive(Buffer.from('{\n'))).toBe(true);
  expect(peer.isClosed).toBe(true);
  await expect(waiting).rejects.toMatchObject({ code: 'internal' });
  expect(log.lines).toHaveLength(1);
});
