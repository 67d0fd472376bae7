// Between the check and the use nothing may change: what was checked is what is dialled, for each socket anew.
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { denied, Egress, type EgressOptions, PUBLIC } from './an-egress.ts';

const HOST = 'rebind.example.com';
const URL_ = `https://${HOST}/mcp`;
const OTHER = '1.1.1.1';

let egress: Egress | undefined;
afterEach(async () => {
  await egress?.close();
  egress = undefined;
});
const open = async (options?: EgressOptions): Promise<Egress> => (egress = await Egress.open(options));

/** With a new socket. */
async function getAnew({ network, get }: { network: Egress['network']; get: Egress['get'] }): Promise<unknown> {
  network.hangUp();
  await setImmediate();
  return get(URL_);
}
const anew = (): Promise<unknown> => {
  const { network } = egress as Egress;
  return getAnew({ network, get: (url) => (egress as Egress).get(url) });
};

it('dials the answer of the same lookup, whatever the next one says', async () => {
  const { network } = await open();
  network.answer(HOST, [PUBLIC], [OTHER], ['8.8.8.8']);
  for (let i = 0; i < 3; i++) await anew();
  expect(network.addresses).toEqual([PUBLIC, OTHER, '8.8.8.8']);
});

it('looks a name up once for each socket, and not for a request on an open one', async () => {
  const { network } = await open();
  network.answer(HOST, [PUBLIC]);
  for (let i = 0; i < 3; i++) {
    await (egress as Egress).get(URL_);
    await setImmediate();
  }
  expect([network.asked, network.connections]).toEqual([[HOST], 1]);
  for (let i = 0; i < 3; i++) await anew();
  expect([network.asked.length, network.connections]).toEqual([4, 4]);
});

it('refuses the second socket of a name that has moved to loopback, and reaches nothing there', async () => {
  const { network } = await open();
  network.answer(HOST, [PUBLIC], ['127.0.0.1']);
  await anew();
  const before = [network.connections, network.bytes];
  await expect(anew()).rejects.toMatchObject(denied('private_address') as object);
  expect(network.addresses).toEqual([PUBLIC]);
  expect([network.connections, network.bytes]).toEqual(before);
});

describe('an answer that changes after it was given', () => {
  it('is dialled as it was: the list', async () => {
    const answers = [OTHER, PUBLIC];
    const { network } = await open({ deps: { resolve: () => Promise.resolve(answers) } });
    network.closed.add(OTHER);
    network.onDial = () => answers.fill('127.0.0.1');
    await (egress as Egress).get(URL_);
    expect(network.addresses).toEqual([OTHER, PUBLIC]);
  });

  it('is dialled as it was: its text', async () => {
    let reads = 0;
    const answer = { toString: () => (reads++ === 0 ? PUBLIC : '127.0.0.1') } as unknown as string;
    const { network } = await open({ deps: { resolve: () => Promise.resolve([answer]) } });
    await (egress as Egress).get(URL_);
    expect([network.addresses, reads]).toEqual([[PUBLIC], 1]);
  });
});

it('refuses a name as a whole for one bad answer, though the good one would not answer', async () => {
  const { network } = await open();
  network.answer(HOST, [PUBLIC, '10.0.0.1']);
  network.closed.add(PUBLIC);
  await expect(anew()).rejects.toMatchObject(denied('private_address') as object);
  expect(network.dialled).toEqual([]);
});

it('checks addresses in place of names, without asking anybody', async () => {
  const { network } = await open();
  await expect((egress as Egress).get('https://127.0.0.1/')).rejects.toMatchObject(denied('private_address') as object);
  await expect((egress as Egress).get('https://[::1]/')).rejects.toMatchObject(denied('private_address') as object);
  await (egress as Egress).get(`https://${PUBLIC}/`);
  expect([network.asked, network.addresses]).toEqual([[], [PUBLIC]]);
});

it('lets no byte out to another end than the one that was dialled', async () => {
  const { network } = await open();
  network.answer(HOST, [PUBLIC]);
  for (const peer of ['127.0.0.1', '10.0.0.7', '::ffff:127.0.0.1', OTHER]) {
    network.peer = () => peer;
    await expect(anew(), peer).rejects.toMatchObject(denied('private_address') as object);
  }
  await setImmediate();
  expect([network.connections, network.bytes]).toEqual([4, 0]);
  // The detail is for the log.
  expect(egress?.denials.at(0)).toMatchObject({
    host: HOST,
    error: { cause: { message: expect.stringContaining('127.0.0.1') } },
  });
});

it('dials nothing inside in 200 calls at once while the name goes to and fro', async () => {
  const { network } = await open({ deps: {} });
  const lists = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? [PUBLIC] : ['127.0.0.1']));
  network.answer(HOST, ...lists);
  const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => (egress as Egress).get(URL_)));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(new Set(network.addresses)).toEqual(new Set([PUBLIC]));
});

describe('TLS', () => {
  it('goes by the name whatever address is dialled: SNI, Host and certificate', async () => {
    const { network } = await open();
    network.answer(HOST, [PUBLIC]);
    network.answer('not-on-the-certificate.test', [PUBLIC]);
    await (egress as Egress).get(URL_);
    expect(network.seen).toMatchObject([{ host: HOST, servername: HOST }]);
    await expect((egress as Egress).get('https://not-on-the-certificate.test/')).rejects.toMatchObject({
      name: 'NotRunError',
    });
    expect(network.seen).toHaveLength(1);
  });

  it('of an address compares it with the certificate', async () => {
    const { network } = await open();
    await (egress as Egress).get(`https://${PUBLIC}/`);
    expect(network.seen).toMatchObject([{ host: PUBLIC, servername: false }]);
    await expect((egress as Egress).get(`https://${OTHER}/`)).rejects.toMatchObject({ name: 'NotRunError' });
  });

  it('that never begins ends by the clock', async () => {
    const { clock, network } = await open();
    network.answer(HOST, [PUBLIC]);
    const silent = new Promise<void>((resolve) => {
      network.onConnection = (socket) => {
        socket.pause();
        socket.removeAllListeners('data');
        resolve();
      };
    });
    const asking = (egress as Egress).get(URL_);
    void asking.catch(() => undefined);
    await silent;
    await setImmediate();
    clock.advance(5_000);
    await expect(asking).rejects.toMatchObject({ name: 'NotRunError' });
    expect(clock.pending).toBe(0);
  });
});

it('tries the next address when one does not answer, four at most', async () => {
  const { network } = await open();
  network.answer(HOST, [OTHER, PUBLIC]);
  network.closed.add(OTHER);
  await anew();
  expect(network.addresses).toEqual([OTHER, PUBLIC]);
  const many = Array.from({ length: 9 }, (_, i) => `93.184.216.${i + 1}`);
  for (const address of many) network.closed.add(address);
  network.answer(HOST, many);
  await expect(anew()).rejects.toMatchObject({ name: 'NotRunError' });
  expect(network.addresses.slice(2)).toEqual(many.slice(0, 4));
});
