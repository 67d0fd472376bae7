// A small authorization server that does what a test tells it, keeps every request, and knows which of its
// tokens are good for whom.
import { listen } from '../upstreams/listener.ts';
import type { AsClient } from './as-clients.ts';
import type { IssuedTokens } from './as-grants.ts';
import type { AnswerHook, AsOptions, AsPlace, AsRequest, AsSettings } from './as-options.ts';
import { AsState, serve } from './as-state.ts';
import type { Access, TokenSource } from './token-source.ts';

export interface ScriptedAs extends TokenSource {
  readonly settings: AsSettings;
  /** Every request, by place, in order of arrival. */
  readonly seen: Readonly<Record<AsPlace, readonly AsRequest[]>>;
  /** Grants ended because a code or a replaced refresh token came twice. */
  readonly revocations: number;
  readonly clients: ReadonlyMap<string, AsClient>;
  /** All access tokens ever given, good or not, oldest first. */
  readonly accessTokens: readonly string[];
  /** Registers a client by hand. */
  addClient(client: Partial<AsClient> & Pick<AsClient, 'clientId'>): AsClient;
  /** Later uses of the client get `invalid_client`. */
  forgetClient(clientId: string): void;
  /** Tokens that nobody signed in for, e.g. to be imported. */
  issue(access: Partial<Access> & Pick<Access, 'subject'>): IssuedTokens;
  /** The next request at this place is answered so; several wait in line. */
  once(place: AsPlace, hook: AnswerHook): void;
  /** All requests at this place are answered so; undefined ends it. */
  always(place: AsPlace, hook: AnswerHook | undefined): void;
  /** As time would: the refresh token stays good. */
  expire(accessToken: string): void;
  expireAll(): void;
  revokeAll(): void;
  until(holds: () => boolean, what?: string): Promise<void>;
  close(): Promise<void>;
}

export async function startScriptedAs(options: AsOptions = {}): Promise<ScriptedAs> {
  const state = new AsState(options);
  const { settings, seen, grants, clients } = state;
  const listener = await listen((req, res) => {
    serve(state, req, res).catch(() => res.destroy());
  });
  state.issuer = new URL(listener.url).origin + state.issuerPath;
  return {
    issuer: state.issuer,
    settings,
    seen,
    get revocations() {
      return grants.revocations;
    },
    clients: clients.all,
    get accessTokens() {
      return [...grants.accessTokens.keys()];
    },
    check(text) {
      const found = grants.find(text);
      if (found === undefined) return undefined;
      const { subject, resource, clientId } = found.grant;
      return { subject, resource, scopes: found.scopes, clientId };
    },
    addClient({ clientId, redirectUris = [], secret, method = secret === undefined ? 'none' : 'client_secret_basic' }) {
      const client = { clientId, redirectUris, secret, method };
      clients.all.set(clientId, client);
      return client;
    },
    forgetClient: (clientId) => void clients.all.delete(clientId),
    issue({ subject, resource, scopes = [], clientId = 'by-hand' }) {
      const grant = { clientId, subject, scopes, resource, revoked: false };
      return { accessToken: grants.accessToken(grant), refreshToken: grants.refreshToken(grant) };
    },
    once: (place, hook) => void state.once[place].push(hook),
    always(place, hook) {
      if (hook === undefined) state.always.delete(place);
      else state.always.set(place, hook);
    },
    expire: (text) => grants.expire(text),
    expireAll: () => grants.expireAll(),
    revokeAll: () => grants.revokeAll(),
    until: (holds, what = 'the authorization server to see it') => state.until(holds, what),
    close: () => listener.close(),
  };
}

/** An OAuth error in place of the answer. */
export const refuses =
  (error: string, status = 400, headers: Readonly<Record<string, string>> = {}): AnswerHook =>
  async () => ({ status, headers, body: { error } });
