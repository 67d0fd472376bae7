// What the operator allows is for servers that somebody registered. Where a server sends us to another origin, the
// rule for everybody holds, whatever stands in KEYBEARER_EGRESS_ALLOW.
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Egress, PUBLIC, STRICT } from './an-egress.ts';

const INSIDE = '10.0.0.7';
const NO_KEY = { carriesCredential: false };

let egress: Egress;
afterEach(() => egress.close());

/** Names and where they lead, and what each path is answered with: the address it sends on to. */
async function aNetwork(
  allow: readonly string[],
  dns: Readonly<Record<string, string>>,
  redirects: Readonly<Record<string, string>>,
): Promise<void> {
  egress = await Egress.open({ settings: { ...STRICT, allow, allowHttp: true } });
  for (const [host, address] of Object.entries(dns)) egress.network.answer(host, [address]);
  egress.network.handle = ({ url }, response) => {
    const location = redirects[url];
    response.writeHead(location === undefined ? 200 : 307, location === undefined ? {} : { location }).end();
  };
}

const get = (url: string) => egress.get(url, NO_KEY);
const refusalOf = (url: string): Promise<unknown> => get(url).catch((error: unknown) => error);

describe('a redirect to another origin', () => {
  it('reaches no name that leads into a range of the operator', async () => {
    await aNetwork(
      ['10.0.0.0/8'],
      { 'a.example.com': PUBLIC, 'b.example.net': INSIDE },
      { '/mcp': 'https://b.example.net/secret' },
    );
    expect(await refusalOf('https://a.example.com/mcp')).toMatchObject({
      code: 'egress_denied',
      data: { reason: 'private_address' },
    });
    expect(egress.network.addresses).toEqual([PUBLIC]);
    expect(egress.denials).toMatchObject([{ host: 'b.example.net' }]);
  });

  it('takes no socket that is open to such a name, because it is registered too', async () => {
    await aNetwork(
      ['10.0.0.0/8'],
      { 'a.example.com': PUBLIC, 'b.example.net': INSIDE },
      { '/mcp': 'https://b.example.net/secret' },
    );
    expect(await get('https://b.example.net/')).toMatchObject({ status: 200 });
    await setImmediate();
    expect(await refusalOf('https://a.example.com/mcp')).toMatchObject({ code: 'egress_denied' });
    expect(egress.network.seen.map(({ url }) => url)).toEqual(['/', '/mcp']);
  });

  it('is a stranger’s word also further on: at the same origin, and back where it came from', async () => {
    await aNetwork(
      ['10.0.0.0/8'],
      { 'a.example.com': INSIDE, 'b.example.net': PUBLIC },
      {
        '/there': 'https://b.example.net/on',
        '/on': '/moved',
        '/back': 'https://b.example.net/home',
        '/home': 'https://a.example.com/',
      },
    );
    egress.network.answer('b.example.net', [PUBLIC], [INSIDE]);
    const { handle } = egress.network;
    egress.network.handle = (request, response) => {
      if (request.url === '/on') response.shouldKeepAlive = false;
      handle(request, response);
    };
    expect(await refusalOf('https://a.example.com/there')).toMatchObject({ code: 'egress_denied' });
    expect(egress.network.addresses).toEqual([INSIDE, PUBLIC]);
    egress.network.answer('b.example.net', [PUBLIC]);
    expect(await refusalOf('https://a.example.com/back')).toMatchObject({ code: 'egress_denied' });
    expect(egress.network.addresses).toEqual([INSIDE, PUBLIC, PUBLIC]);
  });

  it.each([
    ['a host that the operator named', ['b.example.net'], 'https://b.example.net/', INSIDE, 'egress_denied'],
    ['a name of the inside', ['mcp.lan'], 'https://mcp.lan/', INSIDE, 'upstream_protocol'],
    ['an address of a range', ['10.0.0.0/8'], `https://${INSIDE}/`, INSIDE, 'upstream_protocol'],
    ['http', ['b.example.net'], 'http://b.example.net/', PUBLIC, 'upstream_protocol'],
    ['a port of the list', ['b.example.net:9000'], 'https://b.example.net:9000/', PUBLIC, 'upstream_protocol'],
  ])('to %s is not followed', async (_what, allow, location, address, code) => {
    const { hostname } = new URL(location);
    await aNetwork(allow, { 'a.example.com': PUBLIC, [hostname]: address }, { '/mcp': location });
    expect(await refusalOf('https://a.example.com/mcp')).toMatchObject({ code });
    expect(egress.network.seen).toHaveLength(1);
    expect(egress.network.addresses).toEqual([PUBLIC]);
  });

  it('is followed where anybody may go, whether the operator named the host or not', async () => {
    for (const allow of [['10.0.0.0/8'], ['b.example.net']]) {
      await aNetwork(
        allow,
        { 'a.example.com': PUBLIC, 'b.example.net': '1.1.1.1' },
        { '/mcp': 'https://b.example.net/' },
      );
      expect(await get('https://a.example.com/mcp')).toMatchObject({ status: 200 });
      expect(egress.network.addresses).toEqual([PUBLIC, '1.1.1.1']);
      if (allow[0] !== 'b.example.net') await egress.close();
    }
  });
});

it('a redirect within the origin goes where the registered server may be', async () => {
  await aNetwork(['10.0.0.0/8'], { 'a.example.com': INSIDE }, { '/mcp': '/moved' });
  expect(await get('https://a.example.com/mcp')).toMatchObject({ status: 200 });
  expect(egress.network.addresses.every((address) => address === INSIDE)).toBe(true);
});
