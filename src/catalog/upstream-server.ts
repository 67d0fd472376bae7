// A server that a tenant registered, checked and ready to use. Made by definition.ts only.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';

export interface HttpTransport {
  readonly kind: 'http' | 'sse';
  readonly url: string;
  /** Static headers the admin set, lower-case names; values may be secrets. */
  readonly headers: ReadonlyMap<string, Secret>;
}

export interface StdioTransport {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, Secret>;
  readonly cwd: string | undefined;
}

export type Transport = HttpTransport | StdioTransport;

export interface CredentialSpec {
  readonly owner: 'principal' | 'tenant';
  readonly kind: 'oauth' | 'secret' | 'client_credentials' | 'token_exchange';
  /** Over HTTP: header name (lower case) and the word before the value, '' for none. */
  readonly header: string;
  readonly scheme: string;
  /** For a command: the environment variable that carries the key. */
  readonly env: string | undefined;
  readonly label: string | undefined;
  readonly help: string | undefined;
  /** As registered, its secrets taken out. */
  readonly oauth: Readonly<Record<string, unknown>>;
  readonly clientSecret: Secret | undefined;
  /** For registration only, where the endpoint takes nobody else (RFC 7591 §3). */
  readonly initialAccessToken: Secret | undefined;
}

export interface UpstreamServer {
  readonly tenantId: TenantId;
  readonly id: ServerId;
  readonly name: string;
  /** Opaque; differs whenever the definition differs. */
  readonly revision: string;
  readonly source: 'table' | 'file';
  readonly enabled: boolean;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly prefix: string;
  readonly transport: Transport;
  readonly credential: CredentialSpec | undefined;
  readonly only: readonly string[] | undefined;
  readonly except: readonly string[];
  readonly resourcesOnly: readonly string[] | undefined;
  readonly promptsOnly: readonly string[] | undefined;
  readonly asTools: boolean;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  readonly maxResultBytes: number;
  readonly gated: boolean | readonly string[] | 'not-read-only' | 'destructive' | undefined;
  readonly trusted: boolean;
  readonly cost: { readonly usd: number | { readonly path: string } } | undefined;
  readonly catalog: 'shared' | 'principal';
}

/** A registered definition that does not hold; it troubles no other server. */
export interface InvalidServer {
  readonly tenantId: TenantId;
  readonly id: ServerId;
  readonly name: string;
  readonly revision: string;
  readonly problems: readonly Problem[];
}

export interface Problem {
  /** JSON path into the definition, `$.url`; `$` is the whole. */
  readonly path: string;
  readonly message: string;
}

const LONGEST_REASON = 500;

/** Why it does not hold, for admins and agents. */
export const reasonOf = ({ problems }: InvalidServer): string =>
  problems
    .map(({ path, message }) => `${path}: ${message}`)
    .join(' ')
    .slice(0, LONGEST_REASON);

/** A person's own credential is needed, so the server can stand behind a sign-in placeholder. */
export function needsPerson(server: UpstreamServer): boolean {
  const spec = server.credential;
  return spec !== undefined && spec.owner === 'principal' && (spec.kind === 'oauth' || spec.kind === 'secret');
}
