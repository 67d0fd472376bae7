// Begins and finishes a sign-in at an authorization server (OAuth 2.1 authorization code with PKCE). An
// attempt is one row: state, verifier, place, client and scopes belong together, so attempts may overlap,
// and each step may come to another node (T1 to T5).
import { createHash } from 'node:crypto';
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Change } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId, type ServerId, type TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { withinTime } from '../shared/within-time.ts';
import type { AttemptStore, StoredAttempt } from './attempt-store.ts';
import {
  type AuthorizationServersOf,
  type OAuthClient,
  OAuthRefusal,
  OAuthUnavailable,
  type SignInPlace,
} from './authorization-server.ts';
import type { Clients } from './clients.ts';
import { contextIdOf } from './context-id.ts';
import { type Owner, ownerKey } from './credential.ts';
import { grantPlaceOf, grantWith } from './grant.ts';
import type { GrantKeeper } from './keep-grant.ts';
import { attemptContext } from './seal-context.ts';
import type { SignInAttempt, SignInEnd, SignInFlows, SignInPreview } from './sign-in-flows.ts';
import { grantBefore, type ScopesToAskDeps, scopesToAsk, union } from './sign-in-scopes.ts';
import type { Ticket } from './ticket-store.ts';
import type { Vault } from './vault.ts';
import { isShredded } from './vault-errors.ts';

export interface ConsentFlowDeps extends ScopesToAskDeps {
  readonly attempts: AttemptStore;
  readonly authorizationServersOf: AuthorizationServersOf;
  readonly clients: Clients;
  readonly keeper: Pick<GrantKeeper, 'keep'>;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly findServer: (tenantId: TenantId, serverId: ServerId) => Promise<UpstreamServer | undefined>;
  /** The tools are found with the new credential before the page says done. Bounds itself. */
  readonly signedIn: (server: UpstreamServer, owner: Owner) => Promise<void>;
  readonly announce: (change: Change) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LIFE_MS = 10 * 60_000;
const MAX_OPEN = 50;
const EXCHANGE_MS = 25_000;
const STATE = /^[A-Za-z0-9_-]{43}$/;

interface Sealed {
  readonly verifier: string;
  readonly state: string;
  readonly redirectUri: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly place: SignInPlace;
}

export function createSignInFlows(deps: ConsentFlowDeps): SignInFlows {
  const { attempts, authorizationServersOf, clients, keeper, vault, findServer, signedIn, announce, clock, logger } =
    deps;

  const prepare = async (ticket: Ticket, server: UpstreamServer, signal: AbortSignal) => {
    // Whoever holds a grant and is sent here again may find that the server has moved to another issuer (SEP-2352).
    const isAgain = (await grantBefore(deps.kept, ticket, server)) !== undefined;
    const place = await authorizationServersOf(server.tenantId).discover(server, ticket.challenge, signal, isAgain);
    return { place, scopes: await scopesToAsk(deps, ticket, server, place) };
  };

  const exchange = async (
    attempt: StoredAttempt,
    server: UpstreamServer,
    query: URLSearchParams,
  ): Promise<SignInEnd> => {
    const { tenantId, principalId, stateHash, binding } = attempt;
    const text = await vault.open(tenantId, attemptContext(attempt), attempt.sealed).catch(goneIfShredded);
    if (text === undefined) return failed('The keys of this tenant were deleted meanwhile. Try again.');
    const { verifier, state, redirectUri, clientId, scopes, place } = JSON.parse(text.reveal()) as Sealed;
    const client = await clients.known(server, place, clientId);
    if (client === undefined) return failed('The registration of this proxy changed meanwhile. Try again.');
    const tooLate = (): Error => new OAuthUnavailable('the code was not exchanged in time');
    const answer = { redirectUri, query, state, verifier };
    try {
      const tokens = await withinTime(clock, EXCHANGE_MS, tooLate, (signal) =>
        authorizationServersOf(server.tenantId).exchange(place, client, answer, signal),
      );
      const thisTime = { signInId: randomId(12), signedInAt: clock.now() };
      const base = { refreshToken: undefined, scopes: union(scopes, tokens.scopes ?? []), clientId, ...thisTime };
      const grant = grantWith({ ...base, place: grantPlaceOf(place) }, tokens, clock.now());
      const owner: Owner = { kind: 'principal', principalId };
      // Whatever is there gives way: a fresh sign-in always wins.
      await keeper.keep(server, owner, binding, grant, clock.now());
      announce({ kind: 'credentials', tenantId, serverId: server.id, owner: ownerKey(owner) });
      await attempts.end(tenantId, stateHash, 'connected');
      const problem = await findTools(server, owner);
      return problem === undefined ? { kind: 'connected' } : { kind: 'connected', problem };
    } catch (error) {
      if (error instanceof OAuthRefusal && error.code === 'invalid_client' && !error.isByBrowser)
        await clients.forget(server, place.issuer, clientId);
      // What somebody's tools were said to need may be nothing that can be had there.
      if (error instanceof OAuthRefusal && error.code === 'invalid_scope')
        await deps.scopeNeeds.forget(tenantId, server.id, ownerKey({ kind: 'principal', principalId }));
      // What a browser brings may be anybody's words, and a person who declines is no fault.
      if (error instanceof OAuthRefusal && !error.isByBrowser)
        logger.warn({ tenantId, server: server.name, code: error.code }, 'sign-in refused by the sign-in server');
      const end = endOf(error);
      if (end === undefined) throw error;
      return end;
    }
  };

  /** The grant is kept by now; what else goes wrong is told, and seen by the next list. */
  const findTools = async (server: UpstreamServer, owner: Owner): Promise<string | undefined> => {
    try {
      await signedIn(server, owner);
      return undefined;
    } catch (error) {
      const { tenantId, name } = server;
      logger.warn({ tenantId, server: name, error: describeError(error) }, 'tools were not refreshed after a sign-in');
      return error instanceof ProxyError && error.code !== 'internal' ? error.message : undefined;
    }
  };

  const toAttempt = async (stored: StoredAttempt): Promise<SignInAttempt> => {
    const { tenantId, principalId, serverId, browserHash, stateHash, state } = stored;
    const server = await findServer(tenantId, serverId);
    return { id: stateHash.toString('base64url'), tenantId, principalId, server, browserHash, state };
  };

  return {
    async preview(ticket, server, signal) {
      const { place, scopes } = await prepare(ticket, server, signal);
      return previewOf(place, scopes);
    },

    async begin(ticket, server, browserHash, signal, shown) {
      const { tenantId, principalId, serverId, binding } = ticket;
      const now = clock.now();
      if ((await attempts.countOpen(tenantId, principalId, now)) >= MAX_OPEN)
        throw new ProxyError('rate_limited', 'Too many sign-ins are under way for this person; wait ten minutes.');
      const { place, scopes } = await prepare(ticket, server, signal);
      // A server may name another place by now, or more scopes, and nobody has agreed to those.
      if (shown !== undefined && shown !== previewOf(place, scopes).digest) return { kind: 'changed' };
      const client = await clientFor(clients, server, place, signal);
      const [state, verifier] = [randomId(), randomId()];
      const stateHash = hashOf(state);
      const redirectUri = clients.redirectUri(server);
      const extraParams = paramsOf(server);
      const request = { redirectUri, state, verifier, scopes, extraParams };
      const url = await authorizationServersOf(server.tenantId).authorizationUrl(place, client, request);
      const contextId = contextIdOf(tenantId, serverId);
      const open = { tenantId, stateHash, contextId, browserHash, principalId, serverId, binding };
      const text: Sealed = { verifier, state, redirectUri, clientId: client.clientId, scopes, place };
      const sealed = await vault.seal(tenantId, attemptContext(open), JSON.stringify(text));
      await attempts.create({ ...open, sealed, expiresAt: now + LIFE_MS });
      return { kind: 'begun', id: stateHash.toString('base64url'), url };
    },

    async findByState(contextId, state) {
      if (!STATE.test(state)) return undefined;
      const stored = await attempts.find(hashOf(state), clock.now());
      return stored?.contextId === contextId ? toAttempt(stored) : undefined;
    },

    async find(id) {
      if (!STATE.test(id)) return undefined;
      const stored = await attempts.find(Buffer.from(id, 'base64url'), clock.now());
      return stored && toAttempt(stored);
    },

    async finish({ id, tenantId, server }, query) {
      const stateHash = Buffer.from(id, 'base64url');
      const stored = await attempts.find(stateHash, clock.now());
      // First of all, so that of many callbacks one makes a token request (T4).
      if (stored === undefined || !(await attempts.take(tenantId, stateHash, clock.now()))) return { kind: 'taken' };
      let end: SignInEnd = failed('Something went wrong on our side.');
      try {
        end =
          server === undefined || !server.enabled || bindingOf(server) !== stored.binding
            ? failed('This server was changed meanwhile. Ask your agent for a new link.')
            : await exchange(stored, server, query);
      } finally {
        if (end.kind === 'denied' || end.kind === 'failed') await attempts.end(tenantId, stateHash, end.kind);
      }
      return end;
    },
  };
}

function previewOf({ authorizationEndpoint, issuer }: SignInPlace, scopes: readonly string[]): SignInPreview {
  const { origin } = new URL(authorizationEndpoint);
  // Sorted: the same scopes in another order are nothing new to a person.
  const text = JSON.stringify([origin, issuer, [...scopes].sort()]);
  const digest = createHash('sha256').update(text).digest('base64url');
  return { authorizationOrigin: origin, issuer, scopes, digest };
}

/** For the pages: what is no answer now may be one later. */
async function clientFor(
  clients: Clients,
  server: UpstreamServer,
  place: SignInPlace,
  signal: AbortSignal,
): Promise<OAuthClient> {
  try {
    return await clients.forSignIn(server, place, signal);
  } catch (error) {
    if (!(error instanceof OAuthUnavailable)) throw error;
    throw new ProxyError('upstream_unavailable', 'The sign-in server did not answer. Try again.', { cause: error });
  }
}

/** Trying again does not help against these (RFC 6749 §5.2). */
const ADMINS_CODES = new Set(['invalid_client', 'unauthorized_client', 'invalid_scope']);

/** What the callback's failure means for the person; undefined for a fault of our own. */
function endOf(error: unknown): SignInEnd | undefined {
  if (error instanceof OAuthRefusal) {
    if (error.code === 'access_denied') return { kind: 'denied' };
    if (error.code === 'issuer_mismatch')
      return failed('The answer did not come from the sign-in server that was asked.');
    if (ADMINS_CODES.has(error.code))
      return failed(
        `The sign-in server refused (${error.code}). An administrator has to check credential.oauth of this server: clientId, clientSecret, scopes.`,
      );
    return failed(`The sign-in server refused (${error.code}). Try again, or ask the administrator.`);
  }
  if (error instanceof OAuthUnavailable) return failed('The sign-in server did not answer. Try again.');
  if (error instanceof ProxyError && error.code !== 'internal') return failed(error.message);
  return undefined;
}

function failed(reason: string): SignInEnd {
  return { kind: 'failed', reason };
}

function paramsOf({ credential }: UpstreamServer): Readonly<Record<string, string>> {
  const params = credential?.oauth['authorizationParams'];
  if (typeof params !== 'object' || params === null) return {};
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

function goneIfShredded(error: unknown): undefined {
  if (!isShredded(error)) throw error;
}

function hashOf(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
