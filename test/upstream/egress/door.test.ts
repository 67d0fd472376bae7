// The guard is asked before each request, also where a socket is open already.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { EgressDeniedError } from '../../../src/shared/errors.ts';
import { exchangeOnce } from '../../../src/upstream/http-exchange.ts';
import { openTestDoor } from '../../support/a-door.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('asks the guard before each request, and sends none that it refuses', async () => {
  let served = 0;
  const server = createServer((_request, response) => {
    served += 1;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asked: string[] = [];
  const clock = new FakeClock();
  const dispatcher = openTestDoor({
    clock,
    checkOrigin: (text) => {
      asked.push(text);
      if (asked.length === 3) throw new EgressDeniedError('private_address');
    },
  });
  const ask = () => exchangeOnce({ dispatcher, clock }, { origin, path: '/', method: 'GET', headers: [] });
  try {
    await ask();
    await ask();
    await expect(ask()).rejects.toBeInstanceOf(EgressDeniedError);
    expect([asked, served]).toEqual([[origin, origin, origin], 2]);
  } finally {
    await dispatcher.destroy();
    server.close();
  }
});
