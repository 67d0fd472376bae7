// What the admin API needs from the rest; app.ts fills it in.
import type { AddressRule } from '../catalog/address-rule.ts';
import type { Open, Seal } from '../catalog/sealed-definition.ts';
import type { ServerStatus } from '../catalog/server-status.ts';
import type { ServerStore } from '../catalog/server-store.ts';
import type { Problem, UpstreamServer } from '../catalog/upstream-server.ts';
import type { Owner } from '../credential/credential.ts';
import type { CredentialStore } from '../credential/credential-store.ts';
import type { ImportGrant } from '../credential/import-grant.ts';
import type { SecretKeeper } from '../credential/keep-secret.ts';
import type { DataKeyReport, MasterKeyReport } from '../credential/key-report.ts';
import type { Tickets } from '../credential/tickets.ts';
import type { Vault } from '../credential/vault.ts';
import type { AgentKey, AgentKeyStore, IssuerStore, TenantStore } from '../identity/tenant-store.ts';
import type { ClientAddress } from '../limits/client-address.ts';
import type { Strangers } from '../limits/strangers.ts';
import type { Clock } from '../shared/clock.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import type { Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';

/** A server as this node has it, whether it holds or not. */
export interface RegisteredServer {
  readonly id: ServerId;
  readonly name: string;
  readonly source: 'table' | 'file';
  readonly enabled: boolean;
  readonly revision: string;
  /** As registered. It is masked before anyone sees it. */
  readonly definition: unknown;
  /** Undefined while the definition does not hold; `problems` says why. */
  readonly server: UpstreamServer | undefined;
  readonly problems: readonly Problem[];
  readonly status: ServerStatus;
}

/** Every server of a tenant, of the table and of the operator's file. */
export interface ServerDirectory {
  find(tenantId: TenantId, name: string): RegisteredServer | undefined;
  /** By name. */
  list(tenantId: TenantId): readonly RegisteredServer[];
  /** Reads the tenant's servers again, so that what was just written is what `find` gives. */
  refresh(tenantId: TenantId): Promise<void>;
}

export interface LiveConnection {
  readonly id: string;
  readonly server: string;
  /** Undefined where the server needs no credential. */
  readonly owner: Owner | undefined;
  /** Epoch milliseconds. */
  readonly openedAt: number;
  readonly inFlight: number;
}

export interface LiveConnections {
  list(tenantId: TenantId): readonly LiveConnection[];
  /** Takes no new call and closes after the last one; false when the tenant has no such connection. */
  end(tenantId: TenantId, id: string): boolean;
}

/** The keys that seal what is stored. */
export interface KeysAtRest {
  masterKeys(): Promise<readonly MasterKeyReport[]>;
  dataKeys(tenantId: TenantId): Promise<readonly DataKeyReport[]>;
  /** A new data key seals from now on; what is there is sealed anew in the background. */
  rotate(tenantId: TenantId): Promise<void>;
  /** Deletes a tenant's data keys: nobody can open what they sealed any more. */
  shred(tenantId: TenantId): Promise<void>;
}

/** How definitions of this installation are checked and their secrets kept. */
export interface DefinitionRules {
  readonly secretsOf: (tenantId: TenantId, serverName: string) => { readonly seal: Seal; readonly open: Open };
  readonly addressRule: AddressRule;
}

export interface AdminDeps {
  readonly adminKey: Secret;
  readonly findAgentKey: (keyText: string) => Promise<AgentKey | undefined>;
  readonly strangers: Pick<Strangers, 'count' | 'forgive'>;
  readonly clients: Pick<ClientAddress, 'of'>;
  readonly tenants: TenantStore;
  readonly issuers: IssuerStore;
  readonly keys: AgentKeyStore;
  readonly servers: Pick<ServerStore, 'list' | 'put' | 'remove'>;
  readonly directory: ServerDirectory;
  readonly definitions: DefinitionRules;
  readonly credentials: Pick<CredentialStore, 'find' | 'list'>;
  readonly keeper: SecretKeeper;
  /** Where sign-in servers send people of this server back to. */
  readonly redirectUri: (server: UpstreamServer) => string;
  readonly importGrant: ImportGrant;
  /** Removes what is kept and revokes it where it came from; false when nothing was kept. */
  readonly disconnect: (server: UpstreamServer, owner: Owner) => Promise<boolean>;
  /** A credential was kept: its tools are looked for. Bounds itself; what it rejects with is only logged. */
  readonly signedIn: (server: UpstreamServer, owner: Owner) => Promise<void>;
  readonly connections: LiveConnections;
  readonly tickets: Pick<Tickets, 'issue'>;
  /** Whether whoever holds a link may be taken for its person. */
  readonly linkSignInAllowed: () => boolean;
  readonly vault: Pick<Vault, 'seal'>;
  readonly keysAtRest: KeysAtRest;
  readonly clock: Clock;
  readonly logger: Logger;
}
