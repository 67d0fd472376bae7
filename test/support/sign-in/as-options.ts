// What a test may choose about a scripted authorization server, at the start and while it runs.
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../upstreams/message.ts';

export type AsPlace = 'metadata' | 'authorize' | 'token' | 'register' | 'revoke';

/** One request, as it came. */
export interface AsRequest {
  readonly place: AsPlace;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the query or the form; of two with one name, the last. */
  readonly params: Readonly<Record<string, string>>;
  /** The body of a registration. */
  readonly json: JsonObject;
}

export interface AsAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: JsonObject | string;
}

/**
 * Answers in place of the server. `work` does what the server would have done and gives its answer, so
 * a hook may wait before it or after it, and drop the socket before anything was done or after.
 */
export type AnswerHook = (request: AsRequest, work: () => Promise<AsAnswer>) => Promise<AsAnswer | 'drop'>;

/** How the authorization page behaves. */
export type Authorize =
  | { readonly kind: 'approve' }
  | { readonly kind: 'deny'; readonly error?: string; readonly description?: string }
  /** A page with one form: the name to sign in with, and a button for yes and for no. */
  | { readonly kind: 'page' }
  | { readonly kind: 'bounce'; readonly to: string };

export type Register =
  | { readonly kind: 'open' }
  | { readonly kind: 'refuse'; readonly status: number; readonly error?: string }
  | { readonly kind: 'token'; readonly initialAccessToken: string };

/** May be changed while the server runs. */
export interface AsSettings {
  /** Where metadata is found; `oidc-appended` counts only where the issuer has a path. */
  metadataAt: readonly ('oauth' | 'oidc' | 'oidc-appended')[];
  /** Put over the metadata; a member that is undefined is left out. */
  metadata: Readonly<Record<string, unknown>>;
  authorize: Authorize;
  /** What `iss` the answers carry: the right one, none, or this text. */
  iss: 'right' | 'none' | { readonly wrong: string };
  /** Who signs in, unless a cookie, the page or `login_hint` says another. */
  nextSubject: string;
  /** Scopes that are granted of those asked for; undefined: all. */
  grantableScopes: readonly string[] | undefined;
  /** `scope` in token answers. */
  saysScope: boolean;
  /** `expires_in` as it is sent, whatever it is; undefined: left out. Only a number above 0 really ends a token. */
  accessTokenLifeS: unknown;
  refreshTokens: boolean;
  /** none: stays the same and is not sent again · rotate: the old one is refused · strict: and ends the family. */
  rotation: 'none' | 'rotate' | 'strict';
  register: Register;
  /** How clients that register have to prove themselves; undefined: as they ask. */
  registeredMethod: 'none' | 'client_secret_basic' | 'client_secret_post' | undefined;
  /** Takes the URL of a client's metadata document as client id, and says so. */
  metadataDocuments: boolean;
  /** Epoch milliseconds; for tests that own the time. */
  now: () => number;
}

export interface AsOptions extends Partial<AsSettings> {
  /** The issuer's path, e.g. `/tenant-1`; default: none. */
  readonly issuerPath?: string;
}

export const defaultAsSettings: AsSettings = {
  metadataAt: ['oauth'],
  metadata: {},
  authorize: { kind: 'approve' },
  iss: 'right',
  nextSubject: 'ada',
  grantableScopes: undefined,
  saysScope: true,
  accessTokenLifeS: 3600,
  refreshTokens: true,
  rotation: 'rotate',
  register: { kind: 'open' },
  registeredMethod: undefined,
  metadataDocuments: false,
  now: () => Date.now(),
};
