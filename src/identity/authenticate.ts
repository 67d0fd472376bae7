// Token → Caller, by the verifier its form calls for. A token seen before costs a look-up and gives the
// same object at once; only the first sight of one waits.
import type { Strangers } from '../limits/strangers.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { choosePrincipal, toActingKey } from './act-for.ts';
import { createApiKeyVerifier } from './api-key-verifier.ts';
import { parseBearer } from './bearer.ts';
import { type Caller, callerKey } from './caller.ts';
import { createInternCaller } from './intern-caller.ts';
import { createJwksSource, type FetchJson } from './jwks-source.ts';
import { createJwtVerifier } from './jwt-verifier.ts';
import { isRefusal, refusal, refuseAdminKey } from './refusal.ts';
import { SubjectTokens } from './subject-tokens.ts';
import type { AgentKeyStore, IssuerStore, TenantStore } from './tenant-store.ts';
import { type Remembered, TokenMemory } from './token-memory.ts';
import type { Verdict } from './verdict.ts';

const MAX_CALLERS = 50_000;

export interface AuthenticatorDeps {
  readonly keys: Pick<AgentKeyStore, 'findByHash'>;
  readonly issuers: Pick<IssuerStore, 'findByIssuer'>;
  readonly tenants: Pick<TenantStore, 'find'>;
  readonly fetchJson: FetchJson;
  readonly strangers: Pick<Strangers, 'count' | 'forgive'>;
  /** Our public URL. */
  readonly audience: () => string;
  readonly clock: Clock;
  readonly changes: ChangeFeed;
  readonly logger: Logger;
}

export interface AuthenticationRequest {
  readonly authorization: string | undefined;
  /** Every value of `Keybearer-Principal` as it came (`req.headersDistinct`), not joined. Only read together with an agent key. */
  readonly principalHeader: string | readonly string[] | undefined;
  /** The tenant named in the path; a token of another one is as good as unknown. */
  readonly pathTenant: string | undefined;
  /** Where it came from, as `ClientAddress` gives it. Asked for only when the token is not known to be good. */
  readonly address: () => string;
}

export interface Authenticator {
  /**
   * Throws or rejects with `unauthenticated`, `invalid_request`, `insufficient_scope`, or `rate_limited` when too
   * many without a good token come from the address; other errors are ours.
   */
  authenticate(request: AuthenticationRequest): Caller | Promise<Caller>;
  /**
   * The signed token that this principal last came with, while it is good; for servers that take it in
   * exchange for one of theirs, and nothing else (RFC 8693).
   */
  subjectTokenOf(tenantId: TenantId, principalId: PrincipalId): Secret | undefined;
  /** Stops listening for changes; nothing may be asked afterwards. */
  close(): void;
}

export function createAuthenticator({
  keys,
  issuers,
  tenants,
  fetchJson,
  strangers,
  audience,
  clock,
  changes,
  logger,
}: AuthenticatorDeps): Authenticator {
  const memory = new TokenMemory();
  const checks = new SingleFlight<Verdict>();
  const intern = createInternCaller(MAX_CALLERS);
  const subjects = new SubjectTokens();
  const jwks = createJwksSource({ fetchJson, clock, logger });
  const apiKeys = createApiKeyVerifier(keys, clock);
  const jwts = createJwtVerifier({ issuers, keys: jwks, publicUrl: audience, clock, intern });

  const stop = changes.subscribe((change) => {
    memory.hear(change, clock.now());
    if (change.kind !== 'issuers' && change.kind !== 'tenants') return;
    jwks.forget(change.tenantId);
    subjects.forgetTenant(change.tenantId);
  });

  async function verify(token: string): Promise<Verdict> {
    if (token.startsWith('kba_')) throw refuseAdminKey();
    const verdict = token.startsWith('kb_') ? await verifyAgentKey(token) : await jwts.verify(token);
    if ((await tenants.find(verdict.tenantId)) === undefined) throw refusal('no such tenant');
    return verdict;
  }

  async function verifyAgentKey(token: string): Promise<Verdict> {
    const key = await apiKeys.find(token);
    if (key === undefined) throw refusal('unknown or expired agent key');
    return {
      kind: 'agent_key',
      tenantId: key.tenantId,
      expiresAt: key.expiresAt ?? Number.POSITIVE_INFINITY,
      key: toActingKey(key),
    };
  }

  async function verifyAndRemember(authorization: string, token: string, turn: number): Promise<Verdict> {
    try {
      const verdict = await verify(token);
      memory.remember(authorization, verdict, turn);
      // A change heard during the check makes what it found doubtful; the next request is checked again.
      if (verdict.kind === 'signed' && memory.recall(authorization, clock.now()) !== undefined)
        subjects.remember(verdict.caller, token, verdict.expiresAt);
      return verdict;
    } catch (error) {
      // Only a refusal is a finding about the token; a store that is down is not.
      if (isRefusal(error)) memory.refuse(authorization, error, turn, clock.now());
      throw error;
    }
  }

  /** The turn is part of the key: whoever asks after a change does not join a check begun before it. */
  function check(authorization: string): Promise<Verdict> {
    const token = parseBearer(authorization);
    if (token === undefined) throw refusal('not one bearer token');
    const { turn } = memory;
    return checks.run(`${turn} ${authorization}`, () => verifyAndRemember(authorization, token, turn));
  }

  function checkAside(authorization: string, before: Verdict): void {
    check(authorization).catch((error: unknown) => {
      if (!isRefusal(error)) logger.warn({ error: describeError(error) }, 'token not checked again');
      else if (before.kind === 'signed') subjects.forget(before.caller, parseBearer(authorization) ?? '');
    });
  }

  function toCaller(verdict: Verdict, { principalHeader, pathTenant }: AuthenticationRequest): Caller {
    if (pathTenant !== undefined && pathTenant !== verdict.tenantId) throw refusal('token of another tenant');
    if (verdict.kind === 'signed') return verdict.caller;
    const { key, tenantId } = verdict;
    return intern(tenantId, choosePrincipal(key, principalHeader), key.agentId, key.scopes);
  }

  /** Counted before anything is looked up, and not counted in the end unless the token is found to be bad. */
  async function checkStranger(authorization: string, address: string): Promise<Verdict> {
    const isStranger = !memory.knew(authorization);
    if (isStranger) strangers.count(address);
    let isBad = false;
    try {
      return await check(authorization);
    } catch (error) {
      isBad = isRefusal(error);
      throw error;
    } finally {
      if (isStranger && !isBad) strangers.forgive(address);
    }
  }

  /** As remembered; a refusal that is remembered counts like a new one. */
  function recall(authorization: string, { address }: AuthenticationRequest): Remembered | undefined {
    try {
      return memory.recall(authorization, clock.now());
    } catch (error) {
      strangers.count(address());
      throw error;
    }
  }

  return {
    authenticate(request) {
      const { authorization } = request;
      if (authorization === undefined) {
        strangers.count(request.address());
        throw refusal('no token');
      }
      const found = recall(authorization, request);
      if (found === undefined)
        return checkStranger(authorization, request.address()).then((verdict) => toCaller(verdict, request));
      if (memory.claimRecheck(found)) checkAside(authorization, found.verdict);
      return toCaller(found.verdict, request);
    },
    subjectTokenOf: (tenantId, principalId) => subjects.find(callerKey(tenantId, principalId), clock.now()),
    close: stop,
  };
}
