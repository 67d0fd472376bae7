import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import type { Registry, TenantServers } from '../../src/catalog/registry.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { forgetMoved } from '../../src/credential/forget-moved.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aServer, aTenantId, InMemoryCredentials } from './in-memory.ts';

const at = (host: string, source: 'table' | 'file' = 'table') =>
  aServer({ url: `https://${host}/mcp`, credential: { kind: 'oauth' } }, { source });
const reading = (server: UpstreamServer): TenantServers => ({
  version: 1,
  byName: new Map([[server.name, { server, source: 'table', enabled: true, definition: {}, lists: new Map() }]]),
});

type Hear = Parameters<Registry['onChange']>[0];

function aBench() {
  const credentials = new InMemoryCredentials();
  const clock = new FakeClock();
  const forgotten: string[] = [];
  let held: Promise<void> | undefined;
  const gate = (): (() => void) => {
    let open: () => void = () => undefined;
    held = new Promise((resolve) => (open = resolve));
    return open;
  };
  const node = () => {
    let hear: Hear = () => undefined;
    forgetMoved({
      registry: { onChange: (listener) => ((hear = listener), () => undefined) },
      credentials: {
        removeOthers: async (...args) => {
          await held;
          return credentials.removeOthers(...args);
        },
      },
      scopes: { forget: async (_tenant: TenantId, server: ServerId) => void forgotten.push(server) },
      clock,
      logger: createLogger('silent'),
    });
    return async (now: UpstreamServer, before?: UpstreamServer): Promise<void> => {
      hear(aTenantId('acme'), reading(now), before && reading(before));
      await new Promise(setImmediate);
    };
  };
  const keep = (server: UpstreamServer): Promise<string> =>
    credentials.put(
      {
        tenantId: server.tenantId,
        serverId: server.id,
        owner: 'p:anna',
        kind: 'grant',
        binding: bindingOf(server),
        sealed: Buffer.alloc(0),
        details: {},
      },
      clock.now(),
    );
  return { credentials, clock, forgotten, gate, node, keep };
}

describe('a server that moved', () => {
  it('loses what was kept for where it was, and what its tools were said to need (T11)', async () => {
    const { node, keep, credentials, forgotten } = aBench();
    const [a, b] = [at('a.example'), at('b.example')];
    const tell = node();
    await keep(a);
    await tell(b, a);
    await tell(a, b);
    expect(credentials.rows).toEqual([]);
    expect(forgotten).toEqual([a.id, a.id]);
  });

  it('loses it also when it moved, and moved back, while no node ran', async () => {
    const { node, keep, credentials } = aBench();
    const [a, b] = [at('a.example'), at('b.example')];
    await keep(a);
    await node()(b);
    await node()(a);
    expect(credentials.rows).toEqual([]);
  });

  it("keeps it when a node begins whose operator's file is older or newer than another's", async () => {
    const { node, keep, credentials } = aBench();
    await keep(at('a.example', 'file'));
    await node()(at('b.example', 'file'));
    expect(credentials.rows).toHaveLength(1);
  });

  it('keeps what was signed in after it moved again, however late the first move is dealt with', async () => {
    const { node, keep, credentials, clock, gate } = aBench();
    const [a, b, c] = [at('a.example'), at('b.example'), at('c.example')];
    const tell = node();
    await keep(a);
    const open = gate();
    await tell(b, a);
    await tell(c, b);
    clock.advance(1_000);
    await keep(c);
    open();
    await new Promise(setImmediate);
    expect(credentials.rows.map(({ binding }) => binding)).toEqual([bindingOf(c)]);
  });
});
