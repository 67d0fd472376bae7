// The broker over in-memory stores, with a count of what is read.
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { createCredentialBroker } from '../../src/credential/broker.ts';
import { type Credential, type Owner, ownerKey } from '../../src/credential/credential.ts';
import { credentialKey, type StoredCredential } from '../../src/credential/credential-store.ts';
import { createSecretKeeper } from '../../src/credential/keep-secret.ts';
import { createKeptCredentials } from '../../src/credential/kept-credentials.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPrincipal, aServer, aVault, InMemoryCredentials, InMemoryTickets } from './in-memory.ts';

export const server = aServer();
export const shared = aServer({ credential: { kind: 'secret', owner: 'tenant' } }, { name: 'shared' });
export const open = aServer({ credential: undefined }, { name: 'open' });
export const [anna, ben] = [aPrincipal('anna'), aPrincipal('ben')];
export const ofAnna: Owner = { kind: 'principal', principalId: anna };

/** Counts what is read, and lets a test stop a read in the middle. */
class WatchedCredentials extends InMemoryCredentials {
  finds = 0;
  comparisons = 0;
  held: (() => void) | undefined;
  holds = false;

  override async find(tenantId: TenantId, serverId: ServerId, owner: string): Promise<StoredCredential | undefined> {
    this.finds++;
    const row = await super.find(tenantId, serverId, owner);
    if (this.holds) await new Promise<void>((resolve) => (this.held = resolve));
    return row;
  }

  override async versions(
    tenantId?: TenantId,
    keys: readonly { serverId: ServerId; owner: string }[] = [],
  ): Promise<ReadonlyMap<string, string>> {
    this.comparisons++;
    const wanted = new Set(
      tenantId && keys.map((key) => credentialKey({ serverId: key.serverId, owner: key.owner, tenantId })),
    );
    return new Map(
      this.rows.filter((row) => wanted.has(credentialKey(row))).map((row) => [credentialKey(row), row.version]),
    );
  }
}

export function aBench() {
  const [clock, vault, changes] = [new FakeClock(), aVault(), new AChangeFeed()];
  const [credentials, ticketRows] = [new WatchedCredentials(), new InMemoryTickets()];
  const tickets = createTickets({ store: ticketRows, clock, publicUrl: () => 'http://127.0.0.1:8080' });
  const kept = createKeptCredentials({ credentials, vault, changes, logger: createLogger('silent') });
  // Nothing here is a grant; renewer.test.ts and grants.test.ts are about those.
  const renewer = { renew: () => Promise.reject(new Error('a pasted key is never renewed')) };
  const broker = createCredentialBroker({ kept, renewer, tickets, clock });
  const keeper = createSecretKeeper({ vault, credentials, clock });
  const notice = (of: UpstreamServer, owner: Owner): void =>
    changes.say({ kind: 'credentials', tenantId: of.tenantId, serverId: of.id, owner: ownerKey(owner) });
  return { broker, kept, credentials, changes, ticketRows, keeper, notice };
}

export const secretOf = (credential: Credential | undefined): string | undefined =>
  credential?.kind === 'static' ? credential.secret.reveal() : credential?.kind;
export const settled = (): Promise<void> => new Promise(setImmediate);
