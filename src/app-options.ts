// What the app is built from, and what it gives back.
import type { OperatorFile } from './catalog/operator-file.ts';
import type { Config } from './config.ts';
import type { KeyProvider } from './credential/key-provider.ts';
import type { Clock } from './shared/clock.ts';
import type { TenantId } from './shared/id.ts';
import type { Logger } from './shared/logger.ts';
import type { Secret } from './shared/secret.ts';
import type { ConnectorDeps } from './upstream/egress/connector.ts';

export interface AppOptions {
  readonly version: string;
  readonly databaseUrl: string;
  readonly http: Config['http'];
  readonly masterKeys: KeyProvider;
  readonly adminKey: Secret;
  readonly egress: Config['egress'];
  /** Stands in for the network in tests of the address guard. */
  readonly network?: Partial<Pick<ConnectorDeps, 'resolve' | 'dial' | 'ca'>>;
  readonly limits: Config['limits'];
  readonly allowLinkSignIn: boolean;
  /** The operator's file as last read well; `App.refresh` says that it changed. */
  readonly operatorFile: () => OperatorFile | undefined;
  /** Where it is recorded which commands run; without one it is not. */
  readonly dataDir?: string;
  readonly commandUser?: Config['commandUser'];
  readonly parentEnv: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface App {
  /** Where it listens. */
  readonly url: string;
  readonly publicUrl: string;
  /** Whether whoever holds a link may be taken for its person. */
  readonly linkSignInAllowed: boolean;
  /** The operator's file says something new for this tenant. */
  refresh(tenantId: TenantId): Promise<void>;
  /** Not ready, no new work, calls in flight finish within the grace time, everything closes. */
  stop(): Promise<void>;
}
