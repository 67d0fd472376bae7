// What the operator lets out, and nothing beside it.
import { describe, expect, it } from 'vitest';
import { EgressDeniedError, ProxyError } from '../../../src/shared/errors.ts';
import { createAddressRule } from '../../../src/upstream/egress/address-rule.ts';
import { checkUrl } from '../../../src/upstream/egress/check-url.ts';
import { createPolicy, type EgressSettings } from '../../../src/upstream/egress/policy.ts';
import { Egress, PUBLIC, STRICT } from './an-egress.ts';

const OWN_PORT = 8080;

function reasonOf(url: string, settings: Partial<EgressSettings>, selfHosts: readonly string[] = []): string {
  try {
    checkUrl(url, createPolicy({ ...STRICT, ...settings }, { selfHosts: () => selfHosts, ownPort: () => OWN_PORT }));
    return 'let through';
  } catch (error) {
    if (error instanceof EgressDeniedError) return error.reason;
    throw error;
  }
}

describe('an exception of the operator', () => {
  it.each<[allow: string, url: string, expected: string]>([
    ['mcp.lan', 'https://mcp.lan/', 'let through'],
    ['mcp.lan', 'https://mcp.lan:9000/', 'let through'],
    ['mcp.lan', 'https://MCP.lan./', 'let through'],
    ['mcp.lan', 'https://x.mcp.lan/', 'private_host'],
    ['mcp.lan:9000', 'https://mcp.lan:9000/', 'let through'],
    ['mcp.lan:9000', 'https://mcp.lan/', 'private_host'],
    ['mcp.lan:443', 'https://mcp.lan/', 'let through'],
    ['example.com:9000', 'https://example.com:9000/', 'let through'],
    ['example.com:9000', 'https://example.com:9001/', 'port'],
    ['127.0.0.1', 'https://127.0.0.1/', 'let through'],
    ['127.0.0.1', 'https://127.0.0.1:5000/', 'let through'],
    ['127.0.0.1', 'https://2130706433/', 'let through'],
    ['127.0.0.1', 'https://127.0.0.2/', 'private_address'],
    ['127.0.0.1', 'https://localhost:5000/', 'let through'],
    ['127.0.0.1', 'https://[::1]/', 'private_address'],
    ['127.0.0.1', 'https://[::ffff:127.0.0.1]/', 'private_address'],
    ['127.0.0.1:5000', 'https://127.0.0.1:5000/', 'let through'],
    ['127.0.0.1:5000', 'https://127.0.0.1/', 'private_address'],
    ['[::1]:5000', 'https://[::1]:5000/', 'let through'],
    ['[::1]', 'https://[::1]:5001/', 'let through'],
    ['::1', 'https://[::1]:5001/', 'let through'],
    ['10.0.0.0/8', 'https://10.255.0.1:1234/', 'let through'],
    ['10.0.0.0/8', 'https://11.0.0.1:1234/', 'port'],
    ['fd00::/8', 'https://[fd12::1]/', 'let through'],
    ['10.0.0.0/8:9000', 'https://10.1.1.1:9000/', 'let through'],
    ['10.0.0.0/8:9000', 'https://10.1.1.1/', 'private_address'],
    ['mcp.lan', 'http://mcp.lan/', 'scheme'],
    ['10.0.0.0/8', 'https://u@10.0.0.1/', 'url'],
  ])('%s: %s is %s', (allow, url, expected) => {
    expect(reasonOf(url, { allow: [allow] })).toBe(expected);
  });

  it.each<[allow: string, url: string, expected: string]>([
    ['mcp.lan', 'http://mcp.lan/', 'let through'],
    ['mcp.lan', 'http://mcp.lan:3000/', 'let through'],
    ['mcp.lan:3000', 'http://mcp.lan/', 'private_host'],
    ['127.0.0.1', 'http://localhost:3000/', 'let through'],
    ['10.0.0.0/8', 'http://10.1.1.1:80/', 'let through'],
    ['mcp.lan', 'http://example.com/', 'scheme'],
    ['mcp.lan', 'http://127.0.0.1/', 'private_address'],
  ])('%s, in clear: %s is %s', (allow, url, expected) => {
    expect(reasonOf(url, { allow: [allow], allowHttp: true })).toBe(expected);
    expect(reasonOf(url, { allow: [allow], allowHttp: false })).not.toBe('let through');
  });

  it('lets a named host resolve to anything, and names only into a range that is allowed', async () => {
    const answers: readonly [string, string][] = [
      ['named.lan', '10.0.0.1'],
      ['ranged.example.com', '10.0.0.2'],
      ['outside.example.com', '192.168.0.1'],
    ];
    const egress = await Egress.open({ settings: { ...STRICT, allow: ['named.lan', '10.0.0.0/24'], allowHttp: true } });
    for (const [host, address] of answers) egress.network.answer(host, [address]);
    const tried = async (url: string): Promise<string> =>
      egress.get(url).then(
        () => 'answered',
        (error: unknown) => (error instanceof ProxyError ? String(error.data?.['reason'] ?? error.code) : 'broken'),
      );
    await tried('https://named.lan/');
    expect(await tried('https://ranged.example.com/')).toBe('answered');
    expect(await tried('https://outside.example.com/')).toBe('private_address');
    expect(egress.network.addresses).toEqual(['10.0.0.1', '10.0.0.2']);
    // Another port, or no TLS, only where every answer lies in the range.
    egress.network.answer('ranged.example.com', [PUBLIC], ['10.0.0.2', PUBLIC]);
    expect(await tried('https://ranged.example.com:9443/')).toBe('port');
    egress.network.answer('ranged.example.com', ['10.0.0.2', PUBLIC]);
    expect(await tried('http://ranged.example.com/')).toBe('scheme');
    expect(egress.network.addresses).toHaveLength(2);
    await egress.close();
  });
});

describe('a name that the operator lists', () => {
  it.each<[host: string, address: string, expected: string]>([
    ['mcp.lan', '10.0.0.1', 'dialled'],
    ['mcp.lan', '127.0.0.1', 'dialled'],
    ['partner.example.com', '192.168.0.1', 'dialled'],
    ['partner.example.com', '127.0.0.1', 'private_address'],
    ['partner.example.com', '::1', 'private_address'],
    ['partner.example.com', '169.254.169.254', 'private_address'],
    ['mcp.lan', '169.254.169.254', 'private_address'],
    ['mcp.lan', '0.0.0.0', 'private_address'],
    ['mcp.lan', 'fd00:ec2::254', 'private_address'],
  ])('%s at %s is %s', async (host, address, expected) => {
    const egress = await Egress.open({ settings: { ...STRICT, allow: [host], allowHttp: true } });
    egress.network.answer(host, [address]);
    const came = await egress.get(`http://${host}/`).then(
      () => 'dialled',
      (error: unknown) => (error instanceof EgressDeniedError ? error.reason : 'dialled'),
    );
    expect([came, egress.network.addresses]).toEqual([expected, expected === 'dialled' ? [address] : []]);
    await egress.close();
  });
});

describe('this proxy itself', () => {
  it('is not reached by its address in a range that is allowed, but where that very address is', async () => {
    const own = ['10.0.0.7', '8.8.8.8'];
    for (const [allow, expected] of [
      [['10.0.0.0/8'], 'own_host'],
      [['10.0.0.0/8', '10.0.0.7'], 'let through'],
    ] as const) {
      const egress = await Egress.open({ settings: { ...STRICT, allow }, ownAddresses: own });
      const came = await egress.get('https://10.0.0.7/').catch((error: unknown) => error);
      expect(came instanceof EgressDeniedError ? came.reason : 'let through').toBe(expected);
      await egress.close();
    }
    const egress = await Egress.open({ settings: { ...STRICT, nat64: true }, ownAddresses: own });
    egress.network.answer('six.example.com', ['64:ff9b::808:808']);
    await expect(egress.get('https://six.example.com/')).rejects.toMatchObject({ data: { reason: 'own_host' } });
    expect(egress.network.dialled).toEqual([]);
    await egress.close();
  });

  it('is known by an address too', () => {
    expect(reasonOf('https://203.0.114.9/', {}, ['203.0.114.9'])).toBe('own_host');
  });

  it('is no server of anybody, unless the operator says so', async () => {
    expect(reasonOf('https://kb.example.com/mcp', {}, ['kb.example.com'])).toBe('own_host');
    expect(reasonOf('https://kb.example.com/mcp', { allow: ['kb.example.com'] }, ['kb.example.com'])).toBe(
      'let through',
    );
    const egress = await Egress.open({ ownAddresses: [PUBLIC] });
    egress.network.answer('other.example.com', [PUBLIC]);
    await expect(egress.get('https://other.example.com/')).rejects.toMatchObject({ data: { reason: 'own_host' } });
    expect(egress.network.dialled).toEqual([]);
    await egress.close();
  });

  it.each([
    ['http://127.0.0.1:8080/mcp', 'own_host'],
    ['http://localhost:8080/mcp', 'own_host'],
    ['http://LOCALHOST.:8080/mcp', 'own_host'],
    ['http://2130706433:8080/mcp', 'own_host'],
    ['http://127.9.9.9:8080/mcp', 'own_host'],
    ['http://[::1]:8080/mcp', 'own_host'],
    ['http://0.0.0.0:8080/mcp', 'own_host'],
    ['http://[::]:8080/mcp', 'own_host'],
    ['http://127.0.0.1:8081/mcp', 'let through'],
    ['http://localhost:8081/mcp', 'let through'],
  ])('is reached by no address of this machine and its own port, whatever is allowed: %s is %s', (url, expected) => {
    const everything = { allow: ['0.0.0.0/0', '::/0', '127.0.0.1', 'localhost'], allowHttp: true };
    expect(reasonOf(url, everything, ['127.0.0.1'])).toBe(expected);
  });

  it('is no word for another server on this machine', () => {
    expect(reasonOf('http://127.0.0.1:9107/mcp', {}, ['127.0.0.1'])).toBe('private_address');
    expect(reasonOf('http://localhost:9107/mcp', {}, ['localhost'])).toBe('private_host');
  });

  it.each(['10.0.0.7', '127.0.0.1', '0.0.0.0', '::1', '::'])(
    'is not reached at its port by a name that leads to %s, whatever is allowed',
    async (address) => {
      const allow = ['10.0.0.7', '0.0.0.0/0', '::/0', 'kb.lan'];
      const deps = { ownAddresses: () => ['10.0.0.7'] };
      const egress = await Egress.open({ settings: { ...STRICT, allow, allowHttp: true }, ownPort: OWN_PORT, deps });
      egress.network.answer('kb.lan', [address]);
      await expect(egress.get(`http://kb.lan:${OWN_PORT}/mcp`)).rejects.toMatchObject({ data: { reason: 'own_host' } });
      expect(egress.network.dialled).toEqual([]);
      await egress.close();
    },
  );

  it('is asked for its addresses once for each socket, however many answers a name has', async () => {
    let asked = 0;
    const ownAddresses = (): readonly string[] => {
      asked += 1;
      return ['10.0.0.7'];
    };
    const egress = await Egress.open({ deps: { ownAddresses } });
    const answers = Array.from({ length: 9 }, (_, nth) => `93.184.216.${nth + 34}`);
    egress.network.answer('many.example.com', answers);
    await egress.get('https://many.example.com/').catch(() => undefined);
    expect(egress.network.addresses).toEqual([PUBLIC]);
    expect(asked).toBe(1);
    await egress.close();
  });
});

it('says in a registration what is wrong and who can allow it, and repeats nothing of the address', () => {
  const rule = createAddressRule(createPolicy(STRICT));
  for (const url of [
    'https://10.0.0.77/',
    'https://db.internal/',
    'http://example.com/',
    'https://example.com:99/',
    'x',
  ])
    expect(rule(url)).not.toMatch(/10\.0\.0\.77|db\.internal|example\.com/);
  expect(rule('https://10.0.0.77/')).toMatch(/private network.*KEYBEARER_EGRESS_ALLOW=host:port \(read at the start/);
  expect(rule('http://10.0.0.77/')).toMatch(/KEYBEARER_EGRESS_ALLOW=host:port and KEYBEARER_EGRESS_ALLOW_HTTP=true/);
  // Nobody is led to open these.
  for (const url of ['https://169.254.169.254/', 'https://[fd00:ec2::254]/', 'https://0.0.0.0/'])
    expect(rule(url)).toBe('is an address that no server has: link-local, of the metadata of a cloud, or none at all');
  expect(rule('https://example.com:99/')).toMatch(/443 or 8443/);
  expect(rule('https://example.com/')).toBeUndefined();
});
